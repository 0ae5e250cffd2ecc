// The emulated firmware as a machine to run the conformance tests on.
#include "machine.h"

#include <fcntl.h>
#include <unistd.h>

#include "firmware.h"
#include "preempt.h"

namespace {

constexpr uid_t ordinary_user = 1000;

}  // namespace

// The firmware knows queues by their doorbells.
std::set<QueueName> mapped_queues(unsigned gpu) {
  std::map<uint32_t, MappedQueue> doorbells = firmware_state(gpu).mapped;
  std::set<QueueName> queues;
  for (const kfd_queue_status& q : status(gpu).queues)
    if (doorbells.erase(q.doorbell_off) != 0)
      queues.insert({static_cast<int>(q.pid), static_cast<int>(q.queue_id)});
  for (auto& [unknown, queue] : doorbells) queues.insert({-1, static_cast<int>(unknown)});
  return queues;
}

Packets packets_so_far(unsigned gpu) {
  const FirmwarePackets packets = firmware_state(gpu).packets;
  return {packets.run_list + packets.add, packets.unmap + packets.remove};
}

std::string complaint(unsigned gpu) {
  const FirmwarePackets packets = firmware_state(gpu).packets;
  if (packets.unknown != 0)
    return "the firmware got packets it does not know";
  return packets.reset != 0 ? "the GPU was reset" : "";
}

int evict(int pid) { return write_control("evict", std::to_string(pid)); }
int restore(int pid) { return write_control("restore", std::to_string(pid)); }

void set_unmap_delay_ms(unsigned delay) { set_parameter("unmap_delay_us", delay * 1000); }

int open_render_node(unsigned) { return open("/dev/kfd_sim_render", O_RDWR | O_CLOEXEC); }

void become_ordinary_user() {
  if (setgid(ordinary_user) != 0 || setuid(ordinary_user) != 0)
    _exit(1);
}

std::string reason_to_skip() { return ""; }
