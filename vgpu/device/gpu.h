// A virtual GPU as its driver sees it: queues are described by an Mqd, the hardware scheduler
// (HWS) is told to unmap everything or to run a list, and the device reports interrupts and faults.
// The device knows nothing of processes, files or ioctls: a process is a Vmid, i.e. a page table
// and a number (pasid).
//
// Threads: N workers run work-groups and packets; every public function may be called from any
// thread and takes the device lock itself. unmap_queues() blocks until the waves are saved.
// Callbacks (Host) are made from worker threads with no device lock held.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/doorbell.h"
#include "isa/code_cache.h"
#include "memory/page_table.h"

namespace vgpu::device {

enum class CostModel : u8 { none, mi210, mi300x };

struct GpuConfig {
  isa::Arch arch = isa::Arch::gfx90a;
  u32 cus = 8;
  u32 hqds = 24;              // compute slots
  u32 sdma_slots = 16;        // engines x queues per engine
  u32 workers = 2;            // interpreter threads
  bool lend_urgency = false;  // who waits for them makes them real-time (urgency.h)
  u32 simds_per_cu = 4;
  u32 waves_per_simd = 8;    // gfx906: 10
  u32 vgprs_per_simd = 512;  // per lane; gfx906: 256
  u32 lds_per_cu = 64 << 10;
  u32 vmids = 13;                        // concurrent processes; more oversubscribes
  u64 quantum_instructions = 2'000'000;  // time slice of an oversubscribed run list, retired
                                         // instructions of the whole device
  CostModel cost_model = CostModel::none;
};

// A process as the hardware sees it.
struct Vmid {
  Vmid(u32 pasid_, isa::Arch arch, const isa::Engine& engine)
      : pasid(pasid_), code(arch, engine, memory) {}
  const u32 pasid;
  PageTable memory;
  isa::CodeCache code;  // invalidated by PM4 ACQUIRE_MEM and by the driver after unmap
};

enum class QueueType : u8 { compute_pm4, sdma, compute_aql, sdma_xgmi };

// What the driver writes into an MQD. Fixed while the queue is mapped.
struct QueueProperties {
  QueueType type = QueueType::compute_aql;
  u64 ring_base = 0;  // VA
  u32 ring_size = 0;  // bytes; 0 = no ring
  u64 rptr_addr = 0;  // VA; AQL: &amd_queue_t.read_dispatch_id, SDMA: byte offset
  u64 wptr_addr = 0;
  u32 priority = 7;  // 0..15
  u64 eop_addr = 0;
  u64 save_area = 0;  // ctx_save_restore_address
  u32 save_area_size = 0;
  u32 ctl_stack_size = 0;
  std::vector<u32> cu_mask;  // empty: all CUs
  u32 sdma_engine = 0;
};

enum class QueueError : u8 {
  none,
  memory_fault,  // a wave or the packet processor touched an unmapped address
  illegal_instruction,
  trap,        // s_trap 2 (assert, abort)
  bad_packet,  // AQL packet the CP cannot run
  aperture_violation,
};

struct QueueExecution;  // packet processor and wave state of one queue; device-private

// A queue: the memory image the driver owns plus what the device keeps for it. The driver holds the
// shared_ptr; destroying the last one while the queue is in a run list is a bug of the driver.
class Mqd {
 public:
  Mqd(std::shared_ptr<Vmid> vmid, QueueProperties properties, Doorbell doorbell);
  ~Mqd();
  std::shared_ptr<Vmid> vmid;
  QueueProperties properties;
  Doorbell doorbell;
  std::unique_ptr<QueueExecution> execution;
};
using MqdPtr = std::shared_ptr<Mqd>;

// The run list: processes in order, each with its queues, as MAP_PROCESS and MAP_QUEUES packets.
struct RunListProcess {
  std::shared_ptr<Vmid> vmid;
  std::vector<MqdPtr> queues;
};
using RunList = std::vector<RunListProcess>;

enum class QueueState : u8 { unmapped, mapped, waiting };

// Reported to the driver. No device lock is held; the driver may call back into the Gpu.
class Host {
 public:
  virtual ~Host() = default;
  virtual void signal_event(u32 pasid, u32 event_id) = 0;
  struct MemoryFault {
    u64 va = 0;
    bool write = false, not_present = true, no_execute = false;
  };
  virtual void memory_fault(u32 pasid, const MemoryFault& fault) = 0;
  // The queue stopped for good; its amd_queue_t's queue_inactive_signal has been set as the CP and
  // the trap handler do. `error_code` is the value stored there.
  virtual void queue_error(Mqd& queue, QueueError error, u64 error_code) = 0;
};

struct GpuStats {
  u64 wave_instructions = 0, dispatches = 0, unmaps = 0, runlists = 0;
  u64 waves_saved = 0, waves_restored = 0, saved_bytes = 0;
  u32 hqds_active = 0;
  // How often somebody waited for the workers, and how often they could not be made real-time for
  // it (device/urgency.h).
  u64 loans = 0, loans_refused = 0;
};

// One hardware slot, for debugfs hqds.
struct HqdView {
  u32 pipe = 0, queue = 0;
  MqdPtr mqd;  // null: slot free
  u64 rptr = 0, wptr = 0;
  u32 vmid = 0;
};

// What GET_QUEUE_WAVE_STATE and the context save header report after an unmap.
struct SaveInfo {
  u32 ctl_stack_used = 0;
  u32 save_area_used = 0;
  u64 waves = 0;
};

// Faults that tests inject.
struct Injection {
  u64 unmap_delay_ns = 0;  // added to each unmap
  bool hws_hang = false;   // unmaps never complete (until reset())
  u32 drop_doorbells = 0;  // swallow this many doorbell rings
};

class Gpu {
 public:
  Gpu(GpuConfig config, const isa::Engine& engine, DoorbellWatch& doorbells, Host& host);
  ~Gpu();  // stops the workers; queues are dropped where they stand
  const GpuConfig& config() const { return config_; }

  // ---- the HIQ: what the kernel tells the hardware scheduler ----

  // UNMAP_QUEUES (all dynamic queues, action preempt) and its fence: every mapped queue leaves its
  // slot, running waves are saved into their queue's save area. False: not done within timeout_ns
  // (a hung HWS); the device then runs nothing until reset().
  bool unmap_queues(u64 timeout_ns);
  // RUN_LIST: map from this list. Must follow an unmap (or nothing mapped). Does not wait for the
  // waves to run.
  void run_list(RunList list);
  // After a hang: all queue state on the device is lost.
  void reset();

  // ---- memory ----

  // Returns when no worker can still use a translation that was in force before the call.
  void quiesce();
  // Memory that the device may be waiting for (a dependency signal, a packet header) was changed by
  // the host. Optional: the device looks again by itself, only later.
  void kick();

  // ---- looking ----

  QueueState queue_state(const Mqd& queue) const;
  SaveInfo save_info(const Mqd& queue) const;
  GpuStats stats() const;
  std::vector<HqdView> hqds() const;
  u32 waves_resident(u32 pasid) const;  // cu_occupancy
  u32 busy_percent() const;             // of the last second (device/busy_meter.h)

  void inject(const Injection& injection);

 private:
  GpuConfig config_;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vgpu::device
