// The calls of the kernel series (kernel/patches, docs/kernel.md), typed like those of calls.h:
// each returns what the driver returns, or -errno. A driver without the series answers -ENOTTY,
// AMD's DKMS driver without it -EINVAL.
#pragma once

#include <span>

#include "abi/kfd_preempt.h"
#include "kfd/channel.h"

namespace gp::kfd {

// `gpu_id` 0: what the driver knows; else what works on this GPU. Of version 1 nothing but the
// version is in its place.
int get_preempt_caps(const Channel& channel, u32 gpu_id, abi::PreemptCapsArgs& caps);

// A lease of the calling process: its descriptor, close-on-exec. `timeout_ms` 0: no deadline, and
// it can stop no other process. -ENOSPC: the process has kPreemptMaxLeases.
int create_preempt_lease(const Channel& channel, u32 timeout_ms);
// Also brings a lease back whose deadline has passed; what it held was released then. From 1 to
// kPreemptMaxTimeoutMs.
int renew_preempt_lease(const Channel& channel, int lease, u32 timeout_ms);

// What is asked for all entries of a call at once.
struct PreemptMode {
  u32 grace_1k_clocks = 0;  // 0: the GPU's default; at most kPreemptMaxGracePeriod
  u32 timeout_ms = 0;       // for the wait for others at the same GPU; 0: no limit
};
// One unmap and one run list per GPU, whatever the number of entries, on all GPUs at the same time.
// Each entry has a status of its own; -ENOTRECOVERABLE: it is stopped, but its work is lost.
// -ESTALE: the deadline of the lease has passed, nothing was done.
int batch_unmap_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries,
                       const PreemptMode& mode);
int fast_remap_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries);
// They are among those that cannot take the slots which this lease has reserved or will reserve.
int name_low_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries);
int unname_low_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries);
// Both in one go: also one unmap and one run list per GPU.
int swap_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> stop,
                std::span<abi::PreemptEntry> start, const PreemptMode& mode);

// The slots of a GPU; fills `status` but for the list of queues.
int get_queue_status(const Channel& channel, u32 gpu_id, abi::QueueStatusArgs& status);

struct SlotReservation {
  u32 gpu_id = 0;
  u32 slots = 0;      // 0: end it
  u32 rotate_ms = 0;  // 0: the driver's default
};
// Needs CAP_SYS_NICE. -EBUSY: another lease has a reservation on this GPU.
int set_slot_reservation(const Channel& channel, int lease, const SlotReservation& reservation);

}  // namespace gp::kfd
