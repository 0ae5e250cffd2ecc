// The KFD driver of the virtual machine: processes, memory, queues, events, the debugger interface,
// sysfs and debugfs, with the semantics of amdkfd (Linux 6.12; cites in the .cpp files).
//
// The server calls it the way the kernel is called: open, ioctl, exit. Calls come from one thread
// per client thread and may block, as in the kernel (WAIT_EVENTS, DESTROY_QUEUE of a suspended
// queue, RUNTIME_ENABLE under a debugger). Locks, outermost first, as in amdkfd:
//   process table > process > event > device queue manager (one per GPU) > device.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "device/gpu.h"

namespace vgpu::driver {

enum class KfdVersion : u8 {
  v1_11,  // Linux 6.1: no RUNTIME_ENABLE, no DBG_TRAP
  v1_17,  // Linux 6.12
  dkms,   // AMD's DKMS: 1.17 plus IPC_IMPORT_HANDLE 0x80 and IPC_EXPORT_HANDLE 0x81
};
enum class PtraceRule : u8 {
  tracer_thread,     // 6.12.95 and DKMS: the calling thread must be the ptrace parent
  debugger_process,  // 6.12.107: or the process that did ENABLE
};

struct DriverConfig {
  std::string profile = "mi210";  // mi210 (gfx90a) or mi50 (gfx906)
  u32 gpus = 1;
  device::GpuConfig gpu;          // the same for all GPUs
  u64 vram_bytes = u64{4} << 30;  // per GPU
  KfdVersion kfd = KfdVersion::v1_17;
  PtraceRule ptrace_rule = PtraceRule::tracer_thread;
  bool early_ioctls = false;    // PREEMPT_QUEUE and RESUME_QUEUE of abi/early.h are answered
  bool kernel_patches = false;  // the calls of abi/kfd_preempt.h are answered
  std::string tree;           // directory under which sysfs, debugfs and dev are laid out (created)
  u64 hws_timeout_ms = 9000;  // amdgpu.queue_preemption_timeout_ms
};

// The memory of the calling process, for pointers inside ioctl arguments.
class UserMemory {
 public:
  virtual ~UserMemory() = default;
  virtual bool read(u64 address, void* out, u64 size) = 0;  // false: EFAULT
  virtual bool write(u64 address, const void* in, u64 size) = 0;
};

// Names an open file: the memfd that stands for one process's /dev/kfd, or a lease.
struct FileId {
  u64 device = 0, inode = 0;
  bool operator==(const FileId&) const = default;
};

// The open files of the calling process, for descriptors inside ioctl arguments.
class UserFiles {
 public:
  virtual ~UserFiles() = default;
  virtual std::optional<FileId> find(u32 fd) = 0;  // nothing: EBADF
};

struct Caller {
  pid_t pid = 0;  // thread group, in the server's pid namespace
  pid_t tid = 0;  // thread, likewise
  UserMemory* memory = nullptr;
  UserFiles* files = nullptr;
  // In: a file that belongs to the arguments; out: one to install in the caller. Which ioctls have
  // one: protocol/ioctl_files.h. ALLOC_MEMORY_OF_GPU with USERPTR: the client's own sealed memfd
  // that holds the pages; the byte of CPU address A is at file offset A, so mmap_offset (in: the
  // CPU address) is also the offset to map here, and registrations that overlap share their pages.
  // The driver maps it and unmaps it on FREE.
  UniqueFd passed_fd;
  UniqueFd reply_fd;
};

struct QueueInfo {
  pid_t pid;
  u32 queue_id, gpu_id;
  std::string type;  // compute, aql, sdma, sdma_xgmi
  u32 priority;
  // mapped, waiting (for a slot), suspended, evicted, held, preempted, withheld (a reservation
  // keeps it off), inactive
  std::string state;
};
struct GpuInfo {
  u32 gpu_id;
  std::string profile;
  u32 cus, hqds;
  u64 vram_bytes, vram_used;
  device::GpuStats stats;
};
struct Stats {
  std::vector<GpuInfo> gpus;
  std::vector<QueueInfo> queues;
};

struct Module;  // the driver's inside

class Driver {
 public:
  // Makes the devices and lays out config.tree.
  static Result<std::unique_ptr<Driver>> create(DriverConfig config);
  ~Driver();

  // open("/dev/kfd"): the process's kfd file, made at its first open. The server has verified that
  // `pid` is alive and will call process_exited() for it.
  Result<UniqueFd> open_kfd(pid_t pid);
  // open("/dev/dri/renderD<minor>"), or of the primary node card<minor>: the memfd that backs all
  // GPU memory. Nobody reads it: its position tells which node was opened.
  Result<UniqueFd> open_render(u32 minor);

  // Returns what the kernel would: >= 0, or a negative errno. args is copied in and out by the
  // caller, whole, also on error; it has room for the largest argument struct (zero-filled).
  int ioctl(Caller& caller, FileId file, u32 command, std::span<u8> args);

  // The text of a generated file, or errno: path below /sys or /sys/kernel/debug, such as
  // "/sys/class/kfd/kfd/proc/12/vram_4711" or "/sys/kernel/debug/kfd/mqds".
  Result<std::string> read_file(std::string_view path);
  // Writable files: debugfs hang_hws.
  Status write_file(std::string_view path, std::string_view data);

  // The client mapped its doorbells at client_va and gives a userfaultfd registered on them.
  Status attach_doorbell_userfaultfd(pid_t pid, u64 kfd_offset, u64 client_va, UniqueFd uffd);

  // Like mm release: blocked calls of the process return, its queues, memory and ties go.
  void process_exited(pid_t pid);

  Stats stats() const;
  // "suspend-fails[=N]", "unmap-delay=20ms", "hws-hang", "drop-doorbell[=N]", "vram-full=on|off",
  // "evict=PID", "restore=PID", "clear". Unknown: an error that lists them.
  Status inject(std::string_view fault);

  // Lets every blocked call return: before the server stops.
  void shut_down();

 private:
  Driver();
  const std::unique_ptr<Module> module_;
};

}  // namespace vgpu::driver
