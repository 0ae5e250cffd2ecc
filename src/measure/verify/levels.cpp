// Level 1, which holds back packets, beside level 3, which stops running waves; and the long run.
#include <fmt/format.h>

#include "bench/driver_log.h"
#include "demo/summary.h"
#include "report/numbers.h"
#include "verify/judge.h"
#include "verify/online.h"
#include "verify/rivals.h"
#include "verify/steps.h"
#include "verify/stops.h"

namespace gp::verify {
namespace {

struct Level {
  std::optional<double> p50_ms;  // of online requests
  double preemptions = 0, wrong_lanes = 0;
};

Result<Level> measure_level(const Setting& setting, const demo::Scheduler& scheduler,
                            const LoadOptions& offline) {
  const Beside beside = TRY(run_beside(setting,
                                       {.online = true,
                                        .offline = true,
                                        .scheduler = &scheduler,
                                        .offline_agent = offline.agent,
                                        .offline_environment = offline.environment},
                                       setting.extent.phase / 2));
  if (beside.failure) {
    return *beside.failure;
  }
  return Level{demo::quantile(beside.latencies_ms, 0.5), static_cast<double>(beside.preemptions),
               beside.wrong_lanes};
}

Result<Level> measure_level_1(const Setting& setting) {
  const demo::Scheduler scheduler = TRY(start_daemon_with(setting, "gate"));
  return measure_level(setting, scheduler,
                       {.name = "offline", .environment = {{"GPREEMPT_GATE", "1"}}});
}

Result<Level> measure_level_3(const Setting& setting) {
  const demo::Scheduler scheduler = TRY(start_daemon_with(setting, setting.working.front()));
  return measure_level(setting, scheduler, offline_for_best(setting, scheduler, "offline"));
}

}  // namespace

Status run_levels(Setting& setting, report::Results& results) {
  const Level level1 = TRY(measure_level_1(setting)), level3 = TRY(measure_level_3(setting));
  auto& criteria = results.criteria;
  criteria.push_back(at_least("levels", "online p50 with level 1, over that with level 3", 1, "x",
                              report::ratio(level1.p50_ms, level3.p50_ms)));
  criteria.back().note = fmt::format("gate {}, {} {}", report::format_ms(level1.p50_ms),
                                     setting.working.front(), report::format_ms(level3.p50_ms));
  // Else it is no level 3 that was measured.
  criteria.push_back(
      at_least("levels", "stops of offline, with level 3", 1, "", level3.preemptions));
  criteria.push_back(
      at_most("levels", "wrong results", 0, "", level1.wrong_lanes + level3.wrong_lanes));
  return compare_rivals(setting, results);
}

namespace {

void judge_soak(const Setting& setting, const Beside& beside, report::Results& results) {
  auto& criteria = results.criteria;
  criteria.push_back(tiered("soak", "online p99", kOnlineMs, beside.latencies_ms, 0.99));
  criteria.push_back(loss_criterion("soak", loss_of(*setting.alone, beside)));
  criteria.push_back(at_most("soak", "wrong results", 0, "", beside.wrong_lanes));
  criteria.push_back(
      at_least("soak", "stops of offline", 1, "", static_cast<double>(beside.preemptions)));
  if (beside.failure) {
    criteria.push_back(
        holds("soak", "both programs run to the end", false, beside.failure->message()));
  }
  if (beside.interrupted || beside.failure) {
    return;  // there was no end after which it could run again
  }
  criteria.push_back(at_most(
      "soak", "nothing stays stopped: offline runs again after", kRunsAgainS, "s",
      beside.runs_again ? std::optional(std::chrono::duration<double>(*beside.runs_again).count())
                        : std::nullopt));
}

void judge_complaints(const Result<std::vector<std::string>>& complaints,
                      report::Results& results) {
  auto& criteria = results.criteria;
  if (!complaints) {
    criteria.push_back(unjudged(report::kNotPossible, "soak", "complaints in the driver's log",
                                complaints.error().message()));
    return;
  }
  criteria.push_back(at_most("soak", "complaints in the driver's log", 0, "",
                             static_cast<double>(complaints->size())));
  criteria.back().note = complaints->empty() ? "" : "the first: " + complaints->front();
}

}  // namespace

Status run_soak(Setting& setting, report::Results& results) {
  auto log = bench::DriverLog::open();
  double wrong_lanes = 0;
  if (!setting.alone) {
    setting.alone = TRY(measure_alone(setting, results, wrong_lanes));
  }
  const demo::Scheduler scheduler = TRY(start_daemon(setting));
  Beside beside = TRY(run_beside(
      setting, {.online = true, .offline = true, .scheduler = &scheduler}, *setting.extent.soak));
  beside.wrong_lanes += wrong_lanes;
  judge_soak(setting, beside, results);
  judge_complaints(log ? log->complaints() : Result<std::vector<std::string>>(log.error()),
                   results);
  return ok();
}

}  // namespace gp::verify
