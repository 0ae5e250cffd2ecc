#include "daemon/virtual_gpu.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace gp::daemon {
namespace {

constexpr char kVgpu[] = GPREEMPT_BIN_DIR "/vgpu";
constexpr char kDirectory[] = "GPREEMPT_VGPU_DIR";

bool succeeds(const Words& words) { return Program(words, {}).wait() == 0; }

nlohmann::json json_of(const Words& words) {
  Program program(words, {});
  std::string text;
  for (std::string line = program.line(); !line.empty(); line = program.line()) {
    text += line;
  }
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace

VirtualGpu VirtualGpu::given() {
  const char* directory = std::getenv(kDirectory);
  EXPECT_NE(directory, nullptr) << "run this test by `vgpu run`";
  const std::filesystem::path path(directory != nullptr ? directory : "");
  return {path.filename().string(), false, {}};
}

VirtualGpu VirtualGpu::own(const Words& options) {
  VirtualGpu gpu(fmt::format("test-{}", ::getpid()), true, options);
  EXPECT_TRUE(gpu.restart());
  return gpu;
}

VirtualGpu::~VirtualGpu() {
  if (is_own_ && !name_.empty()) {
    succeeds({kVgpu, "stop", name_});
  }
}

bool VirtualGpu::restart() const {
  Words words = {kVgpu, "start", name_, "--kfd", "1.17"};
  words.insert(words.end(), options_.begin(), options_.end());
  return succeeds(words);
}

VirtualGpu::Place VirtualGpu::place() const {
  const nlohmann::json list = json_of({kVgpu, "list", "--json"});
  for (const auto& device : list["devices"]) {
    if (device["name"] == name_) {
      return {device["pid"], device["directory"]};
    }
  }
  ADD_FAILURE() << "the virtual GPU " << name_ << " does not run";
  return {};
}

Environment VirtualGpu::environment() const {
  return is_own_ ? Environment{{kDirectory, place().directory}} : Environment{};
}

bool VirtualGpu::inject(const std::string& fault) const {
  return succeeds({kVgpu, "inject", name_, fault});
}

bool VirtualGpu::has_stopped_queues() const {
  const nlohmann::json stats = json_of({kVgpu, "stats", name_, "--json"});
  for (const auto& queue : stats["queues"]) {
    const std::string state = queue["state"];
    if (state == "suspended" || state == "preempted" || state == "inactive" || state == "held") {
      return true;
    }
  }
  return false;
}

std::string VirtualGpu::describe_queues() const {
  return json_of({kVgpu, "stats", name_, "--json"})["queues"].dump();
}

VirtualGpu::Counts VirtualGpu::counts() const {
  const nlohmann::json stats = json_of({kVgpu, "stats", name_, "--json"});
  Counts counts;
  for (const auto& gpu : stats["gpus"]) {
    counts.unmaps += gpu["unmaps"].get<unsigned long>();
    counts.run_lists += gpu["runlists"].get<unsigned long>();
  }
  return counts;
}

void VirtualGpu::kill() const {
  const pid_t server = place().server;
  const UniqueFd gone(server > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, server, 0)) : -1);
  ASSERT_TRUE(gone);
  ::kill(server, SIGKILL);
  pollfd ready = {gone.get(), POLLIN, 0};
  ::poll(&ready, 1, -1);
}

}  // namespace gp::daemon
