// The calls of the kernel series (kernel/patches, docs/kernel.md), typed like those of calls.h:
// each returns what the driver returns, or -errno. A driver without the series answers -ENOTTY.
#pragma once

#include <span>

#include "abi/kfd_preempt.h"
#include "kfd/channel.h"

namespace gp::kfd {

int get_preempt_caps(const Channel& channel, abi::PreemptCapsArgs& caps);

// A lease of the calling process: its descriptor, close-on-exec. `timeout_ms` 0: no deadline.
int create_preempt_lease(const Channel& channel, u32 timeout_ms);
// Also brings a lease back whose deadline has passed; what it held was released then.
int renew_preempt_lease(const Channel& channel, int lease, u32 timeout_ms);

// What is asked for all entries of a call at once.
struct PreemptMode {
  u32 grace_1k_clocks = 0;  // 0: the GPU's default; at most kPreemptMaxGracePeriod
  u32 timeout_ms = 0;       // for the wait for others at the same GPU; 0: no limit
};
// One unmap and one run list per GPU, whatever the number of entries. Each has a status of its own.
// -ESTALE: the deadline of the lease has passed, nothing was done.
int batch_unmap_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries,
                       const PreemptMode& mode);
int fast_remap_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries);
// Both in one go: also one unmap and one run list per GPU.
int swap_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> stop,
                std::span<abi::PreemptEntry> start, const PreemptMode& mode);

// The slots of a GPU; fills `status` but for the list of queues.
int get_hqd_status(const Channel& channel, u32 gpu_id, abi::HqdStatusArgs& status);

struct HqdReservation {
  u32 gpu_id = 0;
  u32 slots = 0;  // 0: end it
  u32 low_priority = 0;
  u32 rotate_ms = 0;  // 0: the driver's default
};
// Needs CAP_SYS_NICE. -EBUSY: another lease has a reservation on this GPU.
int set_hqd_reservation(const Channel& channel, int lease, const HqdReservation& reservation);

}  // namespace gp::kfd
