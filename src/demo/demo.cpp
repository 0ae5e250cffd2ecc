#include "demo/demo.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "base/arguments.h"
#include "demo/phases.h"
#include "demo/progress.h"
#include "demo/summary.h"
#include "demo/surroundings.h"

namespace gp::demo {
namespace {

// The daemon the user names, or the machine's own; empty if there is none. The usual place is that
// of the machine's GPUs: for a virtual one there is no daemon.
Result<std::optional<Scheduler>> find_running(const std::string& socket) {
  if (!socket.empty()) {
    return std::optional(TRY(Scheduler::connect(socket)));
  }
  auto usual = on_virtual_gpu() ? Error{ENODEV, "", ""} : Scheduler::connect("");
  return usual ? std::optional(std::move(*usual)) : std::nullopt;
}

std::string outcome_text(const report::Phase& phase) {
  const PhaseSummary summary = summarise(phase);
  std::string text;
  if (summary.online_p50_ms) {
    text +=
        fmt::format("p50 {:.1f} ms, p99 {:.1f} ms", *summary.online_p50_ms, *summary.online_p99_ms);
  }
  if (summary.offline_steps_per_s) {
    text += fmt::format("{}{:.1f} steps/s", text.empty() ? "" : ", ", *summary.offline_steps_per_s);
  }
  return text;
}

}  // namespace

bool on_virtual_gpu() { return std::getenv("GPREEMPT_VGPU_DIR") != nullptr; }

bool has_gpu() { return ::access("/dev/kfd", F_OK) == 0; }

Error enter_virtual_gpu(const Places& places, const std::vector<std::string>& words,
                        const std::vector<std::string>& device_options) {
  std::vector<std::string> command = {places.vgpu, "run"};
  command.insert(command.end(), device_options.begin(), device_options.end());
  command.insert(command.end(), {"--", places.gpreempt});
  command.insert(command.end(), words.begin(), words.end());
  ::execv(places.vgpu.c_str(), argument_pointers(command).data());
  return Error{errno, places.vgpu, ""};
}

Result<report::Results> run(const Places& places, const Options& options) {
  const ScratchDirectory scratch = TRY(ScratchDirectory::create());
  const Load load = load_for(on_virtual_gpu(), options.duration);
  std::optional<Scheduler> scheduler = TRY(find_running(options.socket));
  Progress progress;
  const Stage stage(options.end_signals, progress);
  const PhaseRunner runner(places, scratch, load, stage);
  report::Results results;
  results.environment = describe_surroundings(on_virtual_gpu());
  const auto finish = [&](const char* name, const Measured& measured,
                          const Training* undisturbed) -> Status {
    results.phases.push_back(TRY(phase_of(name, measured, undisturbed)));
    progress.done(outcome_text(results.phases.back()));
    return ok();
  };

  progress.begin("1/4 online alone");
  const Measured online = TRY(runner.online_alone());
  TRY(finish(kOnlineAlone, online, nullptr));
  results.environment.rocm = fmt::format("HIP {}", online.serving->hip_runtime);

  progress.begin("2/4 offline alone");
  const Measured offline = TRY(runner.offline_alone());
  TRY(finish(kOfflineAlone, offline, &*offline.training));

  progress.begin("3/4 both, without gpreempt");
  const Measured without = TRY(runner.both(nullptr));
  TRY(finish(kBothWithout, without, &*offline.training));

  progress.begin("4/4 both, with gpreempt");
  if (!scheduler) {
    scheduler.emplace(TRY(Scheduler::start(places, scratch, stage)));
  }
  const Measured with = TRY(runner.both(&*scheduler));
  TRY(finish(kBothWith, with, &*offline.training));

  results.criteria = criteria_of(results.phases, *offline.training);
  return results;
}

}  // namespace gp::demo
