// A user queue as the driver keeps it (struct queue and queue_properties of kfd_priv.h).
#pragma once

#include <memory>
#include <vector>

#include "device/gpu.h"
#include "driver/abi.h"

namespace vgpu::driver {

struct ProcessDevice;

struct Queue {
  // Fixed at creation.
  u32 id = 0;        // per process, from 0, re-used
  u32 ioc_type = 0;  // abi::QueueTypeIoc as asked for; SDMA_BY_ENG_ID becomes SDMA
  ProcessDevice* device = nullptr;
  u64 read_ptr = 0, write_ptr = 0;
  u64 eop_address = 0, eop_size = 0;
  u64 ctx_save_address = 0;
  u32 ctx_save_size = 0, ctl_stack_size = 0;
  u32 doorbell_slot = 0;
  u32 sdma_engine = 0, sdma_queue = 0;
  u64 mqd_address = 0;  // where the MQD would lie in GART; joins mqds, hqds and rls
  device::MqdPtr mqd;

  // Set by UPDATE_QUEUE; under the process lock and that of the device queue manager.
  u64 ring_base = 0;
  u32 ring_size = 0;
  u32 percent = 0, priority = 0;
  u64 held_ring = 0;         // the ring whose mapping is pinned; ring_base may be 0 meanwhile
  std::vector<u32> cu_mask;  // empty: all CUs

  // Under the lock of the device queue manager.
  bool is_active = false;  // counted, and in the run list
  bool is_evicted = false;
  bool is_suspended = false;  // by the debugger
  bool is_preempted = false;  // by PREEMPT_QUEUE (early_ioctls.cpp)
  bool is_held = false;       // by a lease (dqm_holds.cpp)
  bool is_waiting = false;    // for a slot that is not reserved (dqm_slots.cpp)
  bool is_being_destroyed = false;
  bool is_gws = false;  // the device knows that it uses GWS

  // Under the process lock.
  bool wants_gws = false;

  // Under the process's event lock.
  u64 exception_status = 0;

  bool is_compute() const {
    return ioc_type == abi::queue_type_compute || ioc_type == abi::queue_type_compute_aql;
  }
  bool is_sdma() const { return !is_compute(); }
  // QUEUE_IS_ACTIVE (kfd_priv.h:544). The stock driver knows nothing of is_preempted; is_held and
  // is_waiting came with kernel/patches.
  bool should_be_active() const { return wants_slot() && !is_waiting; }
  bool wants_slot() const {
    return ring_size > 0 && ring_base != 0 && percent > 0 && !is_evicted && !is_suspended &&
           !is_preempted && !is_held;
  }
};
using QueuePtr = std::shared_ptr<Queue>;

}  // namespace vgpu::driver
