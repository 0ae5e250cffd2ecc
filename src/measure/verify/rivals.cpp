#include "verify/rivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "bench/daemon_view.h"
#include "demo/summary.h"
#include "model/mechanism.h"
#include "report/numbers.h"
#include "verify/judge.h"
#include "verify/load.h"
#include "verify/online.h"
#include "verify/steps.h"
#include "verify/stops.h"

namespace gp::verify {
namespace {

constexpr char kLevelsStep[] = "levels";
// Each alone would use two thirds of the GPU.
constexpr double kRivalMs = 10, kRivalEveryMs = 15;
constexpr unsigned kRivalWarmUps = 3, kLeastRequests = 10;
constexpr char kStreamsJob[] = "streams", kHighPart[] = "streams (online)",
               kLowPart[] = "streams (offline)";

// Who waits for a third more than there is waits for as long as that lasts.
milliseconds patience_of_rivals(milliseconds duration) {
  return 10 * duration + std::chrono::minutes(5);
}

// `high` and `low` may be the same program. What the daemon knows is asked for as long as both run.
template <class AskDaemon>
Result<Rivals> compete(const Setting& setting, Load& high, Load& low, const AskDaemon& ask_daemon) {
  const KernelShape shape = whole_gpu(setting);
  const milliseconds duration = setting.extent.phase / 4;
  const std::vector<Load*> beside = &high == &low ? std::vector<Load*>{} : std::vector{&low};
  const auto count = static_cast<unsigned>(static_cast<double>(duration.count()) / kRivalEveryMs);
  TRY(high.begin_online(shape, kRivalMs, kRivalEveryMs, kRivalWarmUps));
  TRY(high.end_online(patience_of_rivals({}), beside));
  TRY(low.begin_requests(shape, kRivalMs, kRivalEveryMs));
  TRY(high.begin_online(shape, kRivalMs, kRivalEveryMs, std::max(kLeastRequests, count)));
  const Reply of_high = TRY(high.end_online(patience_of_rivals(duration), beside));
  Rivals rivals;
  TRY(ask_daemon(rivals));
  const Reply of_low = TRY(low.end_offline());
  rivals.high_ms = demo::quantile(in_ms(of_high), 0.5);
  rivals.low_ms =
      demo::quantile(with_unanswered(in_ms(of_low), kRivalEveryMs, of_low.number("seconds")), 0.5);
  rivals.wrong_lanes = of_high.number("wrong_lanes") + of_low.number("wrong_lanes");
  return rivals;
}

Status nobody_to_ask(Rivals&) { return ok(); }

Status ask(const demo::Scheduler& scheduler, Rivals& rivals, const auto& find_low) {
  const bench::DaemonView view = TRY(bench::look_at(scheduler));
  const bench::JobView* low = find_low(view);
  if (low == nullptr) {
    return Error{ENOENT, "the daemon does not know the work of low priority any more", ""};
  }
  rivals.stops = static_cast<double>(low->preemptions);
  rivals.by = low->mechanism;
  return ok();
}

Result<Rivals> programs_without(const Setting& setting) {
  Load low = TRY(Load::start(setting, {.name = "low"}));
  Load high = TRY(Load::start(setting, {.name = "high"}));
  return compete(setting, high, low, nobody_to_ask);
}

Result<Rivals> programs_with(const Setting& setting, const demo::Scheduler& scheduler,
                             const LoadOptions& of_low) {
  Load low = TRY(Load::start(setting, of_low));
  Load high =
      TRY(Load::start(setting, {.name = "high", .scheduler = &scheduler, .work_class = "online"}));
  const pid_t pid = low.child().pid();
  TRY(wait_until_known(setting, scheduler, std::span(&low, 1)));
  return compete(setting, high, low, [&](Rivals& rivals) {
    return ask(scheduler, rivals, [&](const bench::DaemonView& view) { return view.job_of(pid); });
  });
}

Result<Rivals> programs_at_level_1(const Setting& setting) {
  const demo::Scheduler scheduler = TRY(start_daemon_with(setting, "gate"));
  return programs_with(
      setting, scheduler,
      {.name = "low", .scheduler = &scheduler, .environment = {{"GPREEMPT_GATE", "1"}}});
}

Result<Rivals> programs_at_level_3(const Setting& setting) {
  const demo::Scheduler scheduler = TRY(start_daemon_with(setting, setting.working.front()));
  return programs_with(setting, scheduler, offline_for_best(setting, scheduler, "low"));
}

Result<Rivals> streams_without(const Setting& setting) {
  Load both = TRY(Load::start(setting, {.name = kStreamsJob, .streams = true}));
  return compete(setting, both, both, nobody_to_ask);
}

// Each stream is a part of the process, with a connection of its own.
Status wait_until_parts_are_known(const Setting& setting, const demo::Scheduler& scheduler,
                                  Load& both) {
  return setting.waiter.wait("the daemon to know both streams", {&both.child()}, [&] {
    const auto view = bench::look_at(scheduler);
    return view && view->job(kHighPart) != nullptr && view->job(kLowPart) != nullptr;
  });
}

Result<Rivals> streams_at_level_3(const Setting& setting, const std::vector<std::string>& by) {
  const demo::Scheduler scheduler = TRY(start_daemon_for_streams(setting, by));
  Load both =
      TRY(Load::start(setting, {.name = kStreamsJob, .scheduler = &scheduler, .streams = true}));
  TRY(wait_until_parts_are_known(setting, scheduler, both));
  return compete(setting, both, both, [&](Rivals& rivals) {
    return ask(scheduler, rivals, [](const bench::DaemonView& view) { return view.job(kLowPart); });
  });
}

std::string what_of(const char* rivals, const std::string& level) {
  return fmt::format("two {}: low's p50 over high's, {}", rivals, level);
}

void show(const char* whose, const std::string& level, const Rivals& rivals,
          report::Results& results) {
  report::Criterion criterion =
      at_least(kLevelsStep, what_of(whose, level), 1, "x", rivals.ratio());
  criterion.unjudged = report::kShown;
  criterion.note =
      fmt::format("high {}, low {}{}", report::format_ms(rivals.high_ms),
                  report::format_ms(rivals.low_ms), rivals.by.empty() ? "" : ", by " + rivals.by);
  results.criteria.push_back(std::move(criterion));
}

// Priority counts for more with level 3 than with what it is compared with.
void judge(const char* whose, const char* than, const Rivals& level3, const Rivals& other,
           report::Results& results) {
  auto& criteria = results.criteria;
  criteria.push_back(at_least(kLevelsStep,
                              fmt::format("two {}: that ratio at level 3, over {}", whose, than), 1,
                              "x", report::ratio(level3.ratio(), other.ratio())));
  criteria.push_back(at_least(kLevelsStep, fmt::format("two {}: stops of low, level 3", whose), 1,
                              "", level3.stops));
}

Status compare_programs(Setting& setting, report::Results& results) {
  constexpr char kPrograms[] = "programs";
  const Rivals without = TRY(programs_without(setting));
  show(kPrograms, "without gpreempt", without, results);
  const Rivals level1 = TRY(programs_at_level_1(setting));
  show(kPrograms, "level 1", level1, results);
  const Rivals level3 = TRY(programs_at_level_3(setting));
  show(kPrograms, "level 3", level3, results);
  judge(kPrograms, "level 1", level3, level1, results);
  results.criteria.push_back(
      at_most(kLevelsStep, "two programs: wrong results", 0, "",
              without.wrong_lanes + level1.wrong_lanes + level3.wrong_lanes));
  return ok();
}

Status compare_streams(Setting& setting, report::Results& results) {
  constexpr char kStreams[] = "streams";
  const Rivals without = TRY(streams_without(setting));
  show(kStreams, "without gpreempt", without, results);
  static_assert(info_of(Mechanism::gate).scope == Scope::process);
  results.criteria.push_back(unjudged(report::kNotPossible, kLevelsStep,
                                      what_of(kStreams, "level 1"),
                                      "gate holds back a program as a whole"));
  const std::vector<std::string> mechanisms = mechanisms_for_streams(setting);
  if (mechanisms.empty()) {
    results.criteria.push_back(
        unjudged(report::kNotPossible, kLevelsStep, what_of(kStreams, "level 3"),
                 "what stops some queues of a program has lost results: see mechanisms, above"));
    return ok();
  }
  const Rivals level3 = TRY(streams_at_level_3(setting, mechanisms));
  show(kStreams, "level 3", level3, results);
  judge(kStreams, "that without gpreempt", level3, without, results);
  results.criteria.push_back(at_most(kLevelsStep, "two streams: wrong results", 0, "",
                                     without.wrong_lanes + level3.wrong_lanes));
  return ok();
}

}  // namespace

std::optional<double> Rivals::ratio() const { return report::ratio(low_ms, high_ms); }

std::vector<double> with_unanswered(std::vector<double> latencies_ms, double every_ms,
                                    double seconds) {
  for (double arrived_ms = every_ms * static_cast<double>(latencies_ms.size());
       arrived_ms < 1000 * seconds; arrived_ms += every_ms) {
    latencies_ms.push_back(1000 * seconds - arrived_ms);
  }
  return latencies_ms;
}

Status compare_rivals(Setting& setting, report::Results& results) {
  TRY(compare_programs(setting, results));
  return compare_streams(setting, results);
}

}  // namespace gp::verify
