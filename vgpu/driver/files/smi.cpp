#include "driver/files/smi.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>

#include "driver/abi.h"

namespace vgpu::driver {
namespace {

u64 boottime_ns() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return static_cast<u64>(t.tv_sec) * 1'000'000'000u + static_cast<u64>(t.tv_nsec);
}

}  // namespace

UniqueFd SmiClients::open(pid_t pid, bool privileged) {
  // Reading an empty event file never blocks (kfd_smi_ev_read), so both ends are non-blocking.
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return UniqueFd();
  }
  const std::lock_guard lock(mutex_);
  clients_.remove_if([](Client& client) { return !read_mask(client); });
  clients_.push_back({UniqueFd(ends[0]), pid, privileged, 0});
  return UniqueFd(ends[1]);
}

// Takes what the client has written since; the last mask counts. False: it closed its end.
bool SmiClients::read_mask(Client& client) {
  for (;;) {
    u64 mask = 0;
    const ssize_t got = recv(client.socket.get(), &mask, sizeof(mask), MSG_DONTWAIT);
    if (got == sizeof(mask)) {
      client.mask = mask;
    } else {
      return got != 0;
    }
  }
}

void SmiClients::send(pid_t pid, u32 event, const std::string& text) {
  const std::string line = fmt::format("{:x} {}\n", event, text);
  const std::lock_guard lock(mutex_);
  for (auto it = clients_.begin(); it != clients_.end();) {
    Client& client = *it;
    if (!read_mask(client)) {
      it = clients_.erase(it);
      continue;
    }
    const bool all = client.privileged && client.mask & abi::smi_mask(abi::smi_all_process);
    const bool wanted = client.mask & abi::smi_mask(event);
    if (wanted && (pid == 0 || pid == client.pid || all)) {
      // A client that does not read loses events, as with the driver's 1 KiB ring.
      [[maybe_unused]] const ssize_t sent =
          ::send(client.socket.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    ++it;
  }
}

void SmiClients::queue_eviction(pid_t pid, u32 gpu_id, u32 trigger) {
  send(pid, abi::smi_queue_eviction,
       fmt::format("{} -{} {:x} {}", boottime_ns(), pid, gpu_id, trigger));
}

void SmiClients::queue_restore(pid_t pid, u32 gpu_id) {
  send(pid, abi::smi_queue_restore, fmt::format("{} -{} {:x} 0", boottime_ns(), pid, gpu_id));
}

void SmiClients::vm_fault(pid_t pid, const std::string& task_name) {
  send(0, abi::smi_vmfault, fmt::format("{:x}:{}", pid, task_name));
}

void SmiClients::gpu_reset(bool done, u32 sequence, const std::string& cause) {
  send(0, done ? abi::smi_gpu_post_reset : abi::smi_gpu_pre_reset,
       fmt::format("{:x} {}", sequence, cause));
}

}  // namespace vgpu::driver
