#include "bench/device_counts.h"

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <nlohmann/json.hpp>

namespace gp::bench {

Result<u64> device_unmaps(const Launcher& launcher) {
  demo::Command command;
  command.name = "vgpu stats";
  command.words = {launcher.programs().vgpu, "stats", "--json"};
  command.error_file = launcher.scratch().file("vgpu_stats.log");
  command.end_signal = SIGKILL;
  demo::Child stats = TRY(demo::Child::start(std::move(command)));
  TRY(launcher.waiter().wait("the device's counts", {&stats},
                             [&] { return stats.status().has_value(); }));
  // The library reports missing and wrong fields by exceptions: they end here.
  try {
    const auto answer = nlohmann::json::parse(fmt::format("{}", fmt::join(stats.lines(), "\n")));
    u64 unmaps = 0;
    for (const auto& gpu : answer.at("gpus")) {
      unmaps += gpu.at("unmaps").get<u64>();
    }
    return unmaps;
  } catch (const nlohmann::json::exception& exception) {
    return Error{EPROTO, exception.what(), "gpreempt and vgpu may be of different versions"};
  }
}

}  // namespace gp::bench
