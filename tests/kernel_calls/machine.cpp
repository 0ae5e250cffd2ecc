// The virtual GPU as a machine to run the conformance tests on. It is asked and told over its
// control socket, as `vgpu stats` and `vgpu inject` do.
#include "machine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "check.h"
#include "cli/client.h"
#include "client.h"

namespace {

namespace wire = vgpu::wire;

std::string device_directory() {
  const char* directory = getenv(wire::kEnvironment);
  if (directory == nullptr)
    throw Failed("no virtual GPU here: start this program with vgpu run");
  return directory;
}

std::string call(wire::Kind kind, const std::string& text = "") {
  auto client = vgpu::cli::Client::connect(device_directory());
  auto answer = client ? client->call(kind, text) : client.error();
  if (!answer)
    throw Failed("virtual GPU: " + answer.error().message());
  return *answer;
}

nlohmann::json stats() { return nlohmann::json::parse(call(wire::kind_stats)); }

int inject(const std::string& fault) {
  call(wire::kind_inject, fault);
  return 0;
}

bool has_capability(unsigned capability) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("CapEff:", 0) == 0)
      return std::stoull(line.substr(7), nullptr, 16) >> capability & 1;
  return false;
}

}  // namespace

// A queue that the scheduler was told of waits for its slot until a worker of the device comes by.
std::set<QueueName> mapped_queues(unsigned gpu) {
  const nlohmann::json now = stats();
  std::set<QueueName> queues;
  for (const auto& queue : now["queues"])
    if (queue["gpu_id"] == gpus().at(gpu).id &&
        (queue["state"] == "mapped" || queue["state"] == "waiting"))
      queues.insert({queue["pid"], queue["queue_id"]});
  return queues;
}

Packets packets_so_far(unsigned gpu) {
  const nlohmann::json counts = stats()["gpus"].at(gpu);
  return {counts["runlists"], counts["unmaps"]};
}

std::string complaint(unsigned) {
  std::ifstream log(device_directory() + "/log");
  for (std::string line; std::getline(log, line);)
    if (line.find(" error: ") != std::string::npos)
      return line;
  return "";
}

int evict(int pid) { return inject("evict=" + std::to_string(pid)); }
int restore(int pid) { return inject("restore=" + std::to_string(pid)); }

void set_unmap_delay_ms(unsigned delay) { inject("unmap-delay=" + std::to_string(delay) + "ms"); }

int open_render_node(unsigned gpu) {
  return open(("/dev/dri/renderD" + std::to_string(128 + gpu)).c_str(), O_RDWR | O_CLOEXEC);
}

// The server serves one user. What counts is the capability, which an exec does not give back once
// it is out of the bounding set.
void become_ordinary_user() {
  if (prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0) != 0)
    _exit(1);
}

// Stopping other processes, dropping that right for a peer, and listening to events of others.
std::string reason_to_skip() {
  for (unsigned capability : {CAP_SYS_NICE, CAP_SETPCAP, CAP_SYS_ADMIN})
    if (!has_capability(capability))
      return "needs CAP_SYS_NICE, CAP_SETPCAP and CAP_SYS_ADMIN; run it as root";
  return "";
}
