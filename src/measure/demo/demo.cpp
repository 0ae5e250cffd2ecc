#include "demo/demo.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "base/arguments.h"
#include "demo/environment.h"
#include "demo/progress.h"
#include "demo/round_runner.h"
#include "demo/summary.h"

namespace gp::demo {
namespace {

// Some requests and some steps must fit into it.
constexpr std::chrono::milliseconds kShortestRound{500};

// A GPU takes no CPU away from the programs that use it, and needs none to stop. The workers of the
// virtual one do both, so one CPU is left to programs and daemon, and who waits for a worker lends
// it its urgency (docs/virtual-gpu.md has what each brings).
std::vector<std::string> least_disturbing_workers() {
  constexpr unsigned kMost = 8;  // as `vgpu run` has by itself
  const unsigned cpus = std::thread::hardware_concurrency();
  return {"--workers", std::to_string(std::clamp(cpus, 2U, kMost + 1) - 1), "--lend-urgency", "on"};
}

// The daemon the user names, or the machine's own; empty if there is none. The usual place is that
// of the machine's GPUs: for a virtual one there is no daemon.
Result<std::optional<Scheduler>> find_running(const std::string& socket) {
  if (!socket.empty()) {
    return std::optional(TRY(Scheduler::connect(socket)));
  }
  auto usual = on_virtual_gpu() ? Error{ENODEV, "", ""} : Scheduler::connect("");
  return usual ? std::optional(std::move(*usual)) : std::nullopt;
}

Result<Load> load_of(const Options& options, const ScratchDirectory& scratch,
                     const Waiter& waiter) {
  const auto round = std::max(options.duration / options.rounds, kShortestRound);
  if (!options.llm) {
    return load_for(on_virtual_gpu(), round);
  }
  LlamaServer llama =
      TRY(examine_llama_server(options.llm->llama_server, options.llm->model, scratch, waiter));
  return load_with(std::move(llama), on_virtual_gpu(), round);
}

}  // namespace

bool on_virtual_gpu() { return std::getenv("GPREEMPT_VGPU_DIR") != nullptr; }

bool has_gpu() { return ::access("/dev/kfd", F_OK) == 0; }

Error enter_virtual_gpu(const Programs& programs, const std::vector<std::string>& words,
                        const std::vector<std::string>& device_options) {
  std::vector<std::string> command = {programs.vgpu, "run"};
  for (const auto& more : {least_disturbing_workers(), device_options}) {
    command.insert(command.end(), more.begin(), more.end());
  }
  command.insert(command.end(), {"--", programs.gpreempt});
  command.insert(command.end(), words.begin(), words.end());
  ::execv(programs.vgpu.c_str(), argument_pointers(command).data());
  return Error{errno, programs.vgpu, ""};
}

Result<report::Results> run(const Programs& programs, const Options& options) {
  const ScratchDirectory scratch = TRY(ScratchDirectory::create());
  std::optional<Scheduler> running = TRY(find_running(options.socket));
  Progress progress;
  const Waiter waiter(options.end_signals, progress);
  const Load load = TRY(load_of(options, scratch, waiter));
  report::Results results;
  results.environment = describe_environment(on_virtual_gpu());
  RoundRunner rounds(programs, scratch, load, waiter, std::move(running), progress);
  TRY(rounds.run(options.rounds));
  results.environment.rocm = load.llama ? fmt::format("llama-server {}", load.llama->version)
                                        : fmt::format("HIP {}", rounds.hip_runtime());
  results.phases = rounds.phases();
  results.criteria = criteria_of(results.phases);
  return results;
}

}  // namespace gp::demo
