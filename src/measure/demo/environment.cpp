#include "demo/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "discover/discover.h"

namespace gp::demo {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "N/A";
}

// "gfx90a, 8 CUs", of the first GPU; all of them are counted.
std::string gpu_text() {
  const auto snapshot = discover::take_snapshot(system_os(), {}, {}, {.debugfs = false});
  if (!snapshot || snapshot->nodes.empty()) {
    return "N/A";
  }
  const discover::Node& node = snapshot->nodes.front();
  const std::string cus = node.cus ? std::to_string(*node.cus) : "N/A";
  std::string text = fmt::format("{}, {} CUs", gfx_name(node), cus);
  if (snapshot->nodes.size() > 1) {
    text += fmt::format(" x {}", snapshot->nodes.size());
  }
  return text;
}

}  // namespace

report::Environment describe_environment(bool virtual_gpu) {
  report::Environment environment;
  environment.virtual_gpu = virtual_gpu;
  environment.device = fmt::format("{} ({})", virtual_gpu ? "virtual GPU" : "AMD GPU", gpu_text());
  environment.cpu = cpu_model();
  environment.cores = static_cast<u32>(::sysconf(_SC_NPROCESSORS_ONLN));
  utsname names{};
  ::uname(&names);
  environment.kernel = names.release;
  environment.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return environment;
}

}  // namespace gp::demo
