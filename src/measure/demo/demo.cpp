#include "demo/demo.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "base/arguments.h"
#include "demo/progress.h"
#include "demo/summary.h"
#include "demo/surroundings.h"
#include "demo/turns.h"

namespace gp::demo {
namespace {

// Some requests and some steps must fit into it.
constexpr std::chrono::milliseconds kShortestRound{500};

// The daemon the user names, or the machine's own; empty if there is none. The usual place is that
// of the machine's GPUs: for a virtual one there is no daemon.
Result<std::optional<Scheduler>> find_running(const std::string& socket) {
  if (!socket.empty()) {
    return std::optional(TRY(Scheduler::connect(socket)));
  }
  auto usual = on_virtual_gpu() ? Error{ENODEV, "", ""} : Scheduler::connect("");
  return usual ? std::optional(std::move(*usual)) : std::nullopt;
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
  const Load load =
      load_for(on_virtual_gpu(), std::max(options.duration / options.rounds, kShortestRound));
  std::optional<Scheduler> running = TRY(find_running(options.socket));
  Progress progress;
  const Stage stage(options.end_signals, progress);
  report::Results results;
  results.environment = describe_surroundings(on_virtual_gpu());
  Turns turns(places, scratch, load, stage, std::move(running));
  TRY(turns.run(options.rounds, progress));
  results.environment.rocm = fmt::format("HIP {}", turns.hip_runtime());
  results.phases = turns.phases();
  results.criteria = criteria_of(results.phases);
  return results;
}

}  // namespace gp::demo
