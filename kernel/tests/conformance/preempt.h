// The calls under test, for any process that can make them (Client or Peer).
#pragma once

#include <linux/kfd_ioctl.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "client.h"
#include "machine.h"

constexpr uint32_t all_queues = KFD_PREEMPT_ALL_QUEUES;

// This process's client. KFD has one context per process, however often it opens the device.
Client& self();

// No test lasts as long as this, or it renews its leases.
constexpr uint32_t long_enough_ms = KFD_PREEMPT_MAX_TIMEOUT_MS;

template <class Caller>
int create_lease(Caller& caller, uint32_t timeout_ms = long_enough_ms) {
  kfd_ioctl_preempt_lease_args args = {};
  args.op = KFD_PREEMPT_LEASE_CREATE;
  args.timeout_ms = timeout_ms;
  int r = caller.ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args);
  return r < 0 ? r : static_cast<int>(args.lease_fd);
}

// A lease of this process, closed at the end of the scope.
class Lease {
 public:
  explicit Lease(uint32_t timeout_ms = long_enough_ms) : fd_(create_lease(self(), timeout_ms)) {
    if (fd_ < 0)
      throw Failed("no lease");
  }
  ~Lease() { close_now(); }
  Lease(const Lease&) = delete;
  operator int() const { return fd_; }
  void close_now() {
    if (fd_ >= 0)
      close(fd_);
    fd_ = -1;
  }
  int renew(uint32_t timeout_ms = long_enough_ms) {
    kfd_ioctl_preempt_lease_args args = {};
    args.op = KFD_PREEMPT_LEASE_RENEW;
    args.lease_fd = fd_;
    args.timeout_ms = timeout_ms;
    return self().ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args);
  }

 private:
  int fd_;
};

inline kfd_preempt_entry entry(uint32_t pid, uint32_t queue_id, uint32_t gpu_id = 0) {
  kfd_preempt_entry e = {};
  e.target = pid;
  e.queue_id = queue_id;
  e.gpu_id = gpu_id;
  e.status = 12345;
  return e;
}

// The target is named by a copy of its /dev/kfd.
inline kfd_preempt_entry entry_by_fd(int copy, uint32_t queue_id) {
  kfd_preempt_entry e = entry(static_cast<uint32_t>(copy), queue_id);
  e.flags = KFD_PREEMPT_TARGET_FD;
  return e;
}

// 0, 1 (it was so already) or a negative errno.
template <class Caller>
int call_about(Caller& caller, unsigned long request, int lease, uint32_t type, kfd_preempt_entry e,
               uint32_t timeout_ms = 0, uint32_t grace_period = 0) {
  kfd_ioctl_preempt_queue_args args = {};
  args.lease_fd = lease;
  args.type = type;
  args.grace_period = grace_period;
  args.timeout_ms = timeout_ms;
  args.entry = e;
  int r = caller.ioctl(request, &args);
  return r < 0 ? r : args.entry.status;
}

template <class Caller>
int hold(Caller& caller, int lease, kfd_preempt_entry e, uint32_t timeout_ms = 0,
         uint32_t grace_period = 0) {
  return call_about(caller, AMDKFD_IOC_PREEMPT_QUEUE, lease, KFD_IOC_PREEMPT_SAVE, e, timeout_ms,
                    grace_period);
}

template <class Caller>
int release(Caller& caller, int lease, kfd_preempt_entry e, uint32_t timeout_ms = 0) {
  return call_about(caller, AMDKFD_IOC_RESUME_QUEUE, lease, 0, e, timeout_ms);
}

// Into the class that the slot reservation of this lease binds, and out of it.
inline int make_low(int lease, kfd_preempt_entry e) {
  return call_about(self(), AMDKFD_IOC_PREEMPT_QUEUE, lease, KFD_IOC_PREEMPT_LOW, e);
}
inline int make_normal(int lease, kfd_preempt_entry e) {
  return call_about(self(), AMDKFD_IOC_RESUME_QUEUE, lease, KFD_IOC_PREEMPT_LOW, e);
}

inline int demote(int lease, kfd_preempt_entry e) {
  return call_about(self(), AMDKFD_IOC_PREEMPT_QUEUE, lease, KFD_IOC_PREEMPT_DEMOTE, e);
}

inline int batch(unsigned long request, int lease, std::vector<kfd_preempt_entry>& entries) {
  kfd_ioctl_batch_queues_args args = {};
  args.entries_ptr = reinterpret_cast<uint64_t>(entries.data());
  args.num_entries = static_cast<uint32_t>(entries.size());
  args.entry_size = sizeof entries[0];
  args.lease_fd = lease;
  args.type = request == AMDKFD_IOC_BATCH_UNMAP_QUEUES ? KFD_IOC_PREEMPT_SAVE : 0;
  int r = self().ioctl(request, &args);
  return r < 0 ? r : static_cast<int>(args.num_done);
}

struct Status {
  kfd_ioctl_queue_status_args args = {};
  std::vector<kfd_queue_status> queues;
  const kfd_queue_status* find(int pid, int queue_id) const {
    for (const kfd_queue_status& q : queues)
      if (q.pid == static_cast<uint32_t>(pid) && q.queue_id == static_cast<uint32_t>(queue_id))
        return &q;
    return nullptr;
  }
};

inline Status status(unsigned gpu = 0) {
  Status s;
  s.queues.resize(256);
  s.args.gpu_id = gpus().at(gpu).id;
  s.args.num_queues = static_cast<uint32_t>(s.queues.size());
  s.args.entry_size = sizeof s.queues[0];
  s.args.queues_ptr = reinterpret_cast<uint64_t>(s.queues.data());
  if (int r = self().ioctl(AMDKFD_IOC_GET_QUEUE_STATUS, &s.args); r != 0)
    throw Failed("GET_QUEUE_STATUS: " + std::to_string(r));
  s.queues.resize(s.args.num_queues);
  return s;
}

// GPUs with MES (gfx11 and later) have no run lists and no slots that the driver knows of.
inline bool has_mes() { return (status().args.scheduler & KFD_SCHEDULER_MES) != 0; }
inline void needs_run_lists() {
  if (has_mes())
    throw Skipped("MES has no run lists");
}
inline void needs_mes() {
  if (!has_mes())
    throw Skipped("needs MES");
}

// For what the driver does in the background.
template <class Condition>
void wait_until(Condition condition, const char* otherwise) {
  for (int i = 0; i < 20000; i++) {
    if (condition())
      return;
    usleep(1000);
  }
  throw Failed(otherwise);
}

// From its first /dev/kfd until the driver has taken down what it left behind.
inline bool known_to_driver(pid_t pid) {
  return access(("/sys/class/kfd/kfd/proc/" + std::to_string(pid)).c_str(), F_OK) == 0;
}

inline bool is_active(int pid, int queue_id, unsigned gpu) {
  Status s = status(gpu);
  const kfd_queue_status* q = s.find(pid, queue_id);
  if (q == nullptr)
    throw Failed("queue is not listed");
  return (q->flags & KFD_QUEUE_STATUS_ACTIVE) != 0;
}

// Whether the scheduler was told to run the queue. Fails if the driver thinks otherwise. Others may
// stop and start queues meanwhile: what was asked while they did is asked again.
inline bool runs(int pid, int queue_id, unsigned gpu = 0) {
  for (;;) {
    const Packets before = packets_so_far(gpu);
    const bool active = is_active(pid, queue_id, gpu);
    const bool mapped = mapped_queues(gpu).count({pid, queue_id}) != 0;
    if (packets_so_far(gpu) != before)
      continue;
    if (mapped != active)
      throw Failed("driver and scheduler disagree about a queue");
    return mapped;
  }
}
