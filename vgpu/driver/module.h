// The loaded driver: devices, memory, the table of processes, and the thread that does what
// interrupts cause. Internal; the server sees driver.h.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "driver/driver.h"
#include "driver/files/sysfs.h"
#include "driver/memory/memory_pool.h"
#include "driver/preempt/leases.h"
#include "driver/process.h"
#include "driver/work_queue.h"

namespace vgpu::driver {

// Memory handles of the old IPC ioctls (AMD DKMS): 128 random bits name a buffer.
struct SharedBuffer {
  std::weak_ptr<Buffer> buffer;
  u32 gpu_id = 0, alloc_flags = 0, user_flags = 0;
};

struct Module {
  DriverConfig config;
  const Profile* profile = nullptr;
  const isa::Engine* engine = nullptr;
  std::unique_ptr<MemoryPool> pool;
  std::unique_ptr<device::DoorbellWatch> doorbells;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<device::Host>> hosts;  // one per node: the device's callbacks
  std::unique_ptr<SysfsTree> sysfs;
  std::unique_ptr<WorkQueue> work;
  std::unique_ptr<Leases> leases;
  std::atomic<bool> stopping{false};

  // The process table. The lock is a leaf: nothing is called with it held.
  mutable std::shared_mutex table_mutex;
  std::map<pid_t, ProcessPtr> processes;
  std::map<u32, ProcessPtr> by_pasid;
  u32 next_pasid = 0x8001;

  std::mutex ipc_mutex;
  std::map<std::array<u32, 4>, SharedBuffer> shared_buffers;

  std::mutex injection_mutex;
  device::Injection injection;  // what all devices were told

  std::atomic<u64> next_mqd_address{0x7f'0000'0000};  // in GART, for debugfs
  std::atomic<u32> reset_sequence{0};

  u32 kfd_minor() const { return config.kfd == KfdVersion::v1_11 ? 11 : 17; }
  bool has_debugger() const { return kfd_minor() >= 13; }

  Node* find_node(u32 gpu_id);
  ProcessPtr find_process(pid_t pid) const;
  ProcessPtr find_process(FileId file) const;
  ProcessPtr find_process_by_pasid(u32 pasid) const;
  std::vector<ProcessPtr> all_processes() const;

  // The process's entry, made if it has none (kfd_create_process).
  Result<ProcessPtr> create_process(pid_t pid);
  void process_exited(pid_t pid);
  // The scheduler of a GPU hangs: every process is told, the GPU starts anew. From the work thread.
  void reset_gpu(Node& node);

 private:
  Result<ProcessPtr> make_process(pid_t pid);
  void undo_as_debugger(const ProcessPtr& process);
  std::mutex create_mutex_;
};

// The doorbells and the MMIO page of GPU i lie at fixed places in each process's kfd file. The low
// 32 bits of a doorbell offset are the place in the page: libhsakmt 5.2.3 splits the offset that
// CREATE_QUEUE returns there when it maps the page for the first time (queues.c:575-585).
constexpr u64 doorbell_token(u32 node_index) { return u64{node_index + 1} << 32; }
constexpr u64 mmio_token(u32 node_index) { return doorbell_token(node_index) | u64{1} << 20; }
constexpr u64 kDoorbellBytes = 8192;  // kfd_doorbell_process_slice of SOC15: two pages

// One ioctl.
struct Call {
  Module& module;
  Process& process;  // the owner of the file
  ProcessPtr process_ptr;
  Caller& caller;
};

}  // namespace vgpu::driver
