// A process that opened /dev/kfd (struct kfd_process) and what it has on each GPU
// (struct kfd_process_device, "pdd" in the kernel).
//
// Locks: Process::mutex guards everything not said to be under another; event_mutex guards the
// exceptions the debugger sees; ProcessDevice::queues and the eviction state are under the lock of
// that node's Dqm. Order: mutex > event_mutex > Dqm.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <bitset>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "driver/driver.h"
#include "driver/events.h"
#include "driver/node.h"
#include "driver/queues/queue.h"

namespace vgpu::driver {

struct Process;

// Memory a process allocated or imported (struct kgd_mem).
struct Allocation {
  BufferPtr buffer;
  u64 va = 0;
  u64 size = 0;                        // of the address range; twice the buffer's for AQL_QUEUE_MEM
  u32 flags = 0;                       // abi::AllocFlags
  u64 vram_bytes = 0;                  // counted against the process
  std::vector<ProcessDevice*> mapped;  // devices whose page table shows it
};

// A range of a device's page table.
struct VaRange {
  u64 size = 0;
  u32 queue_refcount = 0;  // rings, pointers and save areas of live queues: must stay mapped
};

struct ProcessDevice {
  ProcessDevice(Process& process_, Node& node_) : process(process_), node(node_) {}
  Process& process;
  Node& node;

  bool vm_acquired = false;  // ACQUIRE_VM done; without it nothing can be allocated
  std::shared_ptr<device::Vmid> vmid;
  abi::DeviceApertures apertures = {};

  // Handles are gpu_id << 32 | index.
  std::map<u32, Allocation> allocations;
  std::map<u64, VaRange> va_ranges;
  std::atomic<u64> vram_usage{0};

  std::shared_ptr<device::DoorbellPage> doorbells;  // null until the first queue
  std::bitset<1024> doorbell_slots;

  u64 tba = 0, tma = 0, scratch_va = 0;
  u32 num_gws = 0;  // global wave sync units held: one queue per process may
  bool holds_debug_vmid = false;

  // Under the Dqm lock.
  std::list<QueuePtr> queues;  // newest first, as in the run list
  u32 evicted = 0;             // how many reasons keep the queues off the device
  u64 last_evict_ns = 0;
  std::atomic<u64> evicted_ms{0};
  bool is_terminated = false;         // all queues have left for good
  u32 held_queues = 0;                // how many of them leases hold
  std::atomic<u64> first_held_ns{0};  // since when at least one is; 0: none
  std::atomic<u64> preempted_ms{0};   // the time during which at least one was, until it was none
  std::atomic<u64> sdma_past_bytes{0};

  // Under Process::event_mutex.
  u64 exception_status = 0;
  std::optional<abi::MemoryExceptionData> fault_data;
};

struct Process {
  Process(pid_t pid_, u32 pasid_) : pid(pid_), pasid(pasid_) {}
  const pid_t pid;
  const u32 pasid;
  pid_t own_pid = 0;  // what it calls itself, in its own pid namespace; 0: not known
  UniqueFd kfd_file;  // the memfd that is its /dev/kfd: doorbells and MMIO pages
  UniqueFd pidfd;     // readable once all its threads have gone; -1: they had when it was made
  FileId file;

  std::mutex mutex;
  bool exited = false;  // torn down: no device can be found any more
  std::vector<std::unique_ptr<ProcessDevice>> devices;
  std::list<QueuePtr> queues;  // newest first; changed under both locks, read under either
  std::bitset<abi::kMaxQueuesPerProcess> queue_slots;
  u64 event_page_handle = 0;
  bool xnack_enabled = false;
  bool queues_paused = false;  // by CRIU PROCESS_INFO

  Events events;

  // ---- the debugger ----
  bool debug_trap_enabled = false;
  bool runtime_retry = false;
  abi::RuntimeInfo runtime = {};
  std::weak_ptr<Process> debugger;       // set by ENABLE from another process
  std::condition_variable runtime_wake;  // with mutex
  u32 runtime_semaphore = 0;
  int abandoned = 0;  // blocked calls return this: -EINTR or -ENODEV

  std::mutex event_mutex;
  UniqueFd debug_file;
  u64 exception_enable_mask = 0;
  u64 exception_status = 0;

  // Null if there is none or the process is gone. The process lock must be held.
  ProcessDevice* find_device(u32 gpu_id);
  // The same, and it must have a VM (kfd_bind_process_to_device).
  ProcessDevice* find_bound_device(u32 gpu_id);
  QueuePtr find_queue(u32 queue_id);
  void link_queue(const QueuePtr& queue);
  void unlink_queue(const QueuePtr& queue);
};
using ProcessPtr = std::shared_ptr<Process>;

}  // namespace vgpu::driver
