// Level 1, which holds back packets, beside level 3, which stops running waves; and the long run.
#include <fmt/format.h>

#include "bench/driver_log.h"
#include "demo/summary.h"
#include "report/numbers.h"
#include "verify/judge.h"
#include "verify/online.h"
#include "verify/steps.h"

namespace gp::verify {

Status run_levels(Setting& setting, report::Results& results) {
  const milliseconds duration = setting.extent.phase / 2;
  double wrong_lanes = 0;
  const auto p50_with =
      [&](const std::string& mechanism,
          std::map<std::string, std::string> environment) -> Result<std::optional<double>> {
    const demo::Scheduler scheduler = TRY(start_daemon_with(setting, mechanism));
    const Beside beside = TRY(run_beside(setting,
                                         {.online = true,
                                          .offline = true,
                                          .scheduler = &scheduler,
                                          .offline_environment = std::move(environment)},
                                         duration));
    wrong_lanes += beside.wrong_lanes;
    return demo::quantile(beside.latencies_ms, 0.5);
  };
  const auto level1 = TRY(p50_with("gate", {{"GPREEMPT_GATE", "1"}}));
  const std::string& best = setting.working.front();
  const auto level3 = TRY(p50_with(best, {}));
  report::Criterion criterion =
      at_least("levels", "online p50 with level 1, over that with level 3", 1, "x",
               report::ratio(level1, level3));
  criterion.note =
      fmt::format("gate {}, {} {}", report::format_ms(level1), best, report::format_ms(level3));
  results.criteria.push_back(std::move(criterion));
  results.criteria.push_back(at_most("levels", "wrong results", 0, "", wrong_lanes));
  return ok();
}

Status run_soak(Setting& setting, report::Results& results) {
  auto log = bench::DriverLog::open();
  const demo::Scheduler scheduler = TRY(start_daemon(setting));
  const Beside beside = TRY(run_beside(
      setting, {.online = true, .offline = true, .scheduler = &scheduler}, *setting.extent.soak));
  auto& criteria = results.criteria;
  criteria.push_back(tiered("soak", "online p99", kOnlineMs, beside.latencies_ms, 0.99));
  criteria.push_back(at_most("soak", "wrong results", 0, "", beside.wrong_lanes));
  criteria.push_back(
      at_least("soak", "stops of offline", 1, "", static_cast<double>(beside.preemptions)));
  const auto complaints = log ? log->complaints() : Result<std::vector<std::string>>(log.error());
  if (!complaints) {
    criteria.push_back(unjudged(report::kNotPossible, "soak", "complaints in the driver's log",
                                complaints.error().message()));
    return ok();
  }
  criteria.push_back(at_most("soak", "complaints in the driver's log", 0, "",
                             static_cast<double>(complaints->size())));
  criteria.back().note = complaints->empty() ? "" : "the first: " + complaints->front();
  return ok();
}

}  // namespace gp::verify
