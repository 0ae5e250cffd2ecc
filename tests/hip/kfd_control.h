// The KFD calls a program makes to stop and restart queues, its own or those of a process it
// traces. Structs and numbers: include/uapi/linux/kfd_ioctl.h of Linux 6.12; the copy here lets the
// tests build on Debian 12, whose header ends at ABI 1.11.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace kfd {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct UpdateQueueArgs {  // kfd_ioctl_update_queue_args
  u64 ring_base_address;
  u32 queue_id, ring_size, queue_percentage, queue_priority;
};
static_assert(sizeof(UpdateQueueArgs) == 24);

struct RuntimeEnableArgs {  // kfd_ioctl_runtime_enable_args
  u64 r_debug;
  u32 mode_mask, capabilities_mask;
};
static_assert(sizeof(RuntimeEnableArgs) == 16);

struct QueueSnapshot {  // kfd_queue_snapshot_entry
  u64 exception_status;
  u64 ring_base_address, write_pointer_address, read_pointer_address, ctx_save_restore_address;
  u32 queue_id, gpu_id, ring_size, queue_type, ctx_save_restore_area_size, reserved;
};
static_assert(sizeof(QueueSnapshot) == 64);

struct DbgTrapArgs {  // kfd_ioctl_dbg_trap_args
  u32 pid, op;
  union {
    struct {
      u64 exception_mask, rinfo_ptr;
      u32 rinfo_size, dbg_fd;
    } enable;
    struct {
      u64 exception_mask, queue_array_ptr;
      u32 num_queues, grace_period;
    } suspend;
    struct {
      u64 queue_array_ptr;
      u32 num_queues, pad;
    } resume;
    struct {
      u64 exception_mask, snapshot_buf_ptr;
      u32 num_queues, entry_size;
    } snapshot;
  };
};
static_assert(sizeof(DbgTrapArgs) == 32);

struct CriuArgs {  // kfd_ioctl_criu_args
  u64 devices, bos, priv_data, priv_data_size;
  u32 num_devices, num_bos, num_objects, pid, op, pad;
};
static_assert(sizeof(CriuArgs) == 56);

constexpr unsigned long kUpdateQueue = _IOW('K', 0x07, UpdateQueueArgs);
constexpr unsigned long kCriuOp = _IOWR('K', 0x22, CriuArgs);
constexpr unsigned long kRuntimeEnable = _IOWR('K', 0x25, RuntimeEnableArgs);
constexpr unsigned long kDbgTrap = _IOWR('K', 0x26, DbgTrapArgs);

enum DbgOp : u32 { kEnable = 0, kDisable = 1, kSuspend = 6, kResume = 7, kQueueSnapshot = 13 };
enum CriuOp : u32 { kCriuProcessInfo = 0, kCriuUnpause = 2 };
constexpr u64 kQueueNewMask = u64{1} << 30;  // KFD_EC_MASK(EC_QUEUE_NEW)
constexpr u32 kComputeQueue = 0, kAqlQueue = 2;

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "kfd: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

// A second open of /dev/kfd: it belongs to the process, so it acts on the queues HIP made.
class Control {
 public:
  Control() : fd_(open("/dev/kfd", O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0)
      fail("open /dev/kfd");
  }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  ~Control() { close(fd_); }
  int fd() const { return fd_; }

  // Must come before the process has queues; ROCr 5.2 does not do it itself.
  void enable_runtime() {
    RuntimeEnableArgs args{};
    args.mode_mask = 1;
    if (ioctl(fd_, kRuntimeEnable, &args) != 0)
      fail("RUNTIME_ENABLE");
  }

  // Makes `pid` (itself, or a traced process) debugged; the pipe is where KFD writes for events.
  void enable_debugging(pid_t pid) {
    if (pipe2(pipe_, O_NONBLOCK | O_CLOEXEC) != 0)
      fail("pipe2");
    u64 runtime_info[2] = {};
    DbgTrapArgs args{};
    args.pid = static_cast<u32>(pid);
    args.op = kEnable;
    args.enable = {0, reinterpret_cast<u64>(runtime_info), sizeof(runtime_info),
                   static_cast<u32>(pipe_[1])};
    if (ioctl(fd_, kDbgTrap, &args) != 0)
      fail("DBG_TRAP ENABLE");
    if (static_cast<u32>(runtime_info[1]) != 1) {
      std::fprintf(stderr, "kfd: the runtime state is %u\n", static_cast<u32>(runtime_info[1]));
      std::exit(1);
    }
  }
  void disable_debugging(pid_t pid) {
    DbgTrapArgs args{};
    args.pid = static_cast<u32>(pid);
    args.op = kDisable;
    if (ioctl(fd_, kDbgTrap, &args) != 0)
      fail("DBG_TRAP DISABLE");
    close(pipe_[0]);
    close(pipe_[1]);
  }

  // All queues, and none of them "new" afterwards: a new queue cannot be suspended.
  std::vector<QueueSnapshot> queues(pid_t pid) {
    std::vector<QueueSnapshot> entries(64);
    DbgTrapArgs args{};
    args.pid = static_cast<u32>(pid);
    args.op = kQueueSnapshot;
    args.snapshot = {kQueueNewMask, reinterpret_cast<u64>(entries.data()),
                     static_cast<u32>(entries.size()), sizeof(QueueSnapshot)};
    if (ioctl(fd_, kDbgTrap, &args) != 0)
      fail("DBG_TRAP GET_QUEUE_SNAPSHOT");
    entries.resize(args.snapshot.num_queues);
    return entries;
  }

  // Both return the number of queues, as the ioctl does.
  int suspend(pid_t pid, std::vector<u32> ids) {
    DbgTrapArgs args{};
    args.pid = static_cast<u32>(pid);
    args.op = kSuspend;
    args.suspend = {0, reinterpret_cast<u64>(ids.data()), static_cast<u32>(ids.size()), 0};
    const int result = ioctl(fd_, kDbgTrap, &args);
    if (result < 0)
      fail("DBG_TRAP SUSPEND_QUEUES");
    return result;
  }
  int resume(pid_t pid, std::vector<u32> ids) {
    DbgTrapArgs args{};
    args.pid = static_cast<u32>(pid);
    args.op = kResume;
    args.resume = {reinterpret_cast<u64>(ids.data()), static_cast<u32>(ids.size()), 0};
    const int result = ioctl(fd_, kDbgTrap, &args);
    if (result < 0)
      fail("DBG_TRAP RESUME_QUEUES");
    return result;
  }

  // Percentage 0 takes the queue off the hardware, 100 puts it back.
  void update(const QueueSnapshot& queue, u32 percentage, u32 priority = 7) {
    UpdateQueueArgs args{queue.ring_base_address, queue.queue_id, queue.ring_size, percentage,
                         priority};
    if (ioctl(fd_, kUpdateQueue, &args) != 0)
      fail("UPDATE_QUEUE");
  }

  void criu(CriuOp op) {
    CriuArgs args{};
    args.op = op;
    if (ioctl(fd_, kCriuOp, &args) == 0)
      return;
    if (errno == EPERM) {
      std::printf("skipped: CRIU_OP needs CAP_CHECKPOINT_RESTORE\n");
      std::exit(77);
    }
    fail("CRIU_OP");
  }

 private:
  int fd_;
  int pipe_[2] = {-1, -1};
};

inline std::vector<QueueSnapshot> compute_queues(const std::vector<QueueSnapshot>& all) {
  std::vector<QueueSnapshot> out;
  for (const QueueSnapshot& queue : all) {
    if (queue.queue_type == kComputeQueue || queue.queue_type == kAqlQueue)
      out.push_back(queue);
  }
  return out;
}
inline std::vector<u32> ids_of(const std::vector<QueueSnapshot>& queues) {
  std::vector<u32> ids;
  for (const QueueSnapshot& queue : queues) ids.push_back(queue.queue_id);
  return ids;
}

}  // namespace kfd
