// What the device keeps of one queue: the packet processor's registers and the work-groups that are
// resident or saved. The driver owns it as part of the Mqd, so it survives unmapping.
//
// All of it is protected by the device lock, except a WorkGroup in state `running` and an SDMA
// queue with `running` set: those belong to the worker that runs them until its slice ends.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "abi/aql.h"
#include "device/gpu.h"
#include "device/occupancy.h"
#include "isa/wave.h"

namespace vgpu::device {

struct WorkGroup;

// What the CP derives from a kernel descriptor.
struct Kernel {
  u64 entry = 0;  // VA of the first instruction
  u32 vgprs = 0;  // allocated, arch and accumulation together
  u32 arch_vgprs = 0;
  u32 sgprs = 0;  // allocated
  u32 mode = 0;   // initial MODE register
  u32 user_sgprs = 0;
  u32 rsrc2 = 0;
  u16 properties = 0;
};

// The scratch memory a dispatch runs with, read from amd_queue_t when it starts.
struct Scratch {
  u32 descriptor[4] = {};
  u64 base = 0;
  u32 wave_bytes = 0;  // distance between the waves' shares; 0: the dispatch uses none
  u32 waves = 0;       // how many may be in flight
  bool once = false;   // USE_SCRATCH_ONCE
};

// A packet that was taken from the ring and is not yet retired.
struct Packet {
  u64 index = 0;
  abi::AqlPacket aql{};
  bool complete = false;
  // Kernel dispatches:
  bool is_dispatch = false;
  Kernel kernel;
  Scratch scratch;
  Footprint footprint;  // of a full work-group
  u32 groups[3] = {};   // grid in work-groups
  u64 group_count = 0;
  u64 next_group = 0;  // launched so far; the CP's cursor, kept in the MQD when preempted
  u64 groups_done = 0;
  u64 start_ts = 0;
  u64 signal() const { return aql.dispatch.completion_signal; }
};

// Why the packet processor does not go on; all but `none` and `barrier` are looked at again and
// again, because nobody tells the device when host memory changes.
enum class Stall : u8 {
  none,
  barrier,          // earlier packets must complete first: looked at when they do
  invalid_header,   // the packet is not written yet
  dependency,       // signals of a barrier packet
  scratch,          // the runtime was asked for more scratch memory
  scratch_reclaim,  // the runtime was asked to take single-use scratch back
};

// Global wave sync: barriers among all waves of a cooperative dispatch.
class Gws {
 public:
  void init(u32 resource, u32 waves);
  bool barrier(isa::Wave& wave, u32 resource);

 private:
  struct Resource {
    u32 waves = 1;  // that must arrive
    u32 arrived = 0;
    u64 phase = 0;
  };
  std::mutex mutex_;
  Resource resources_[64];
};

struct QueueExecution {
  // ---- the ring ----
  u64 read = 0;                // AQL: packets retired; SDMA: bytes consumed
  u64 write = 0;               // what the CP knows: from the doorbell, or from memory when mapped
  u64 last_ring = kNeverRung;  // doorbell value seen last
  bool started = false;        // read index was taken from memory once, at the first map

  // ---- AQL ----
  std::deque<std::unique_ptr<Packet>> in_flight;  // [read, next)
  u64 next() const { return read + in_flight.size(); }
  Stall stall = Stall::none;
  Packet* launching = nullptr;      // the dispatch whose groups are being handed out
  std::vector<bool> scratch_slots;  // taken
  Gws gws;

  // ---- work-groups ----
  std::list<std::unique_ptr<WorkGroup>> groups;  // resident and saved
  std::deque<WorkGroup*> ready;                  // resident, not running, can run
  std::deque<WorkGroup*> saved;                  // in the save area, wait for room
  bool save_planned = false;                     // for the unmap that is under way
  std::vector<WorkGroup*> to_save;               // once planned: of `ready`, who is to be saved yet
  bool restored_last = false;                    // the last one started came from `saved`
  u32 running = 0;                               // groups (or SDMA slices) a worker has

  // ---- SDMA ----
  u64 packet_done = 0;      // SdmaRing::done
  u64 poll_not_before = 0;  // ns; a POLL_REGMEM that failed is retried then

  // ---- scheduling ----
  Mqd* mqd = nullptr;
  CuSet cus;  // from the CU mask
  bool mapped = false;
  bool leaving = false;   // is to give up its slot: nothing of it is started
  bool draining = false;  // leaving, but its waves cannot be saved: they run to their end
  bool stopped = false;   // after a fault: nothing of it runs any more
  u32 slot = 0;
  u64 launched_at = 0;   // sequence number of the last launch, for taking turns
  u64 mapped_at = 0;     // sequence number of the mapping: smaller is longer ago
  u64 waited_since = 0;  // when it lost its slot, same sequence; 0: never had one
  u64 runs_from_ns = 0;  // cost model: restored waves do not run before
  SaveInfo save_info;

  QueueExecution();
  ~QueueExecution();
  u32 packet_slots() const { return mqd->properties.ring_size / abi::kPacketSize; }
  // AQL: the amd_queue_t around the read pointer; SDMA has none.
  u64 amd_queue() const {
    return mqd->properties.rptr_addr - offsetof(abi::AmdQueue, read_dispatch_id);
  }
  bool is_sdma() const {
    const QueueType type = mqd->properties.type;
    return type == QueueType::sdma || type == QueueType::sdma_xgmi;
  }
};

// A work-group on the device.
struct WorkGroup {
  enum class State : u8 { ready, running, saved };

  WorkGroup(QueueExecution& queue_, Packet& packet_, const Footprint& footprint_)
      : queue(queue_), packet(packet_), footprint(footprint_) {}

  QueueExecution& queue;
  Packet& packet;
  Footprint footprint;
  State state = State::running;
  u64 number = 0;            // in the grid, x fastest
  Placement placement;       // valid unless saved
  std::vector<u32> scratch;  // slot per wave, kept while saved; empty: no scratch

  // Present unless saved.
  std::unique_ptr<isa::Wave[]> waves;
  std::unique_ptr<u32[], void (*)(void*)> registers{nullptr, nullptr};  // all waves' VGPRs
  std::unique_ptr<u8[]> lds;

  u64 save_offset = 0, save_bytes = 0;  // in the save area; no bytes: not saved
  std::list<std::unique_ptr<WorkGroup>>::iterator self;

  // Gives each wave its registers and the group its LDS, all zero.
  void allocate(const Kernel& kernel);
  void free_state();
  bool ended() const;
};

}  // namespace vgpu::device
