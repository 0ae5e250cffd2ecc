// The preemption calls of /dev/kfd that the kernel series in kernel/patches adds: stop and resume
// queues of any process, under leases that give them back. docs/kernel.md explains them;
// the names in comments are those of the patched uapi/linux/kfd_ioctl.h.
//
// A stock driver does not know the numbers (ENOTTY). Whether it is patched is asked with
// GET_PREEMPT_CAPS, never concluded from the version of the interface, which stays the same.
#pragma once

#include <cstddef>

#include "libc/types.h"

namespace gp::abi {

// Far above the numbers of the stock driver (up to 0x26) and of AMD's DKMS driver (from 0x80),
// because both append to theirs.
enum PreemptNr : u32 {
  kfd_get_preempt_caps = 0xe0,     // _IOR, PreemptCapsArgs
  kfd_preempt_lease = 0xe1,        // _IOWR, PreemptLeaseArgs
  kfd_preempt_queue = 0xe2,        // _IOWR, PreemptQueueArgs
  kfd_resume_queue = 0xe3,         // _IOWR, ResumeQueueArgs
  kfd_batch_unmap_queues = 0xe4,   // _IOWR, BatchQueuesArgs
  kfd_fast_remap = 0xe5,           // _IOWR, BatchQueuesArgs
  kfd_swap_queues = 0xe6,          // _IOWR, SwapQueuesArgs
  kfd_get_hqd_status = 0xe7,       // _IOWR, HqdStatusArgs
  kfd_set_hqd_reservation = 0xe8,  // _IOW, HqdReservationArgs
};

constexpr u32 kPreemptVersion = 1;             // KFD_PREEMPT_VERSION
constexpr u32 kPreemptMaxEntries = 4096;       // KFD_PREEMPT_MAX_ENTRIES, of one list
constexpr u32 kPreemptMaxGracePeriod = 255;    // KFD_PREEMPT_MAX_GRACE_PERIOD, 1K GPU clocks
constexpr u32 kPreemptAllQueues = 0xffffffff;  // KFD_PREEMPT_ALL_QUEUES, future ones included
constexpr i32 kPreemptUnchanged = 1;           // KFD_PREEMPT_UNCHANGED: it was so already
constexpr u32 kPreemptTargetFd = 1u << 0;      // KFD_PREEMPT_TARGET_FD: the target is no pid

// The trigger of SMI eviction events that stands for a lease (KFD_QUEUE_EVICTION_PREEMPT).
constexpr u32 kEvictionPreempt = 0xe0;

// KFD_PREEMPT_CAP_*
constexpr u32 kPreemptCapQueues = 1u << 0;       // 0xe2 to 0xe6
constexpr u32 kPreemptCapStatus = 1u << 1;       // GET_HQD_STATUS
constexpr u32 kPreemptCapReservation = 1u << 2;  // SET_HQD_RESERVATION
constexpr u32 kPreemptCapEarly = 1u << 3;        // the calls of early.h
constexpr u32 kPreemptCapDemote = 1u << 4;       // preempt_demote, on GPUs with MES

// enum kfd_ioc_preempt_type: what happens to running waves.
enum PreemptType : u32 {
  preempt_drain = 0,  // EOPNOTSUPP
  preempt_reset = 1,  // EOPNOTSUPP
  preempt_save = 2,
  preempt_demote = 3,  // they run on, after all that are not demoted; EOPNOTSUPP without MES
};

// kfd_ioctl_preempt_caps_args
struct PreemptCapsArgs {
  u32 version;           // out
  u32 flags;             // out: kPreemptCap*
  u32 max_entries;       // out
  u32 max_grace_period;  // out
};
static_assert(sizeof(PreemptCapsArgs) == 16);

enum PreemptLeaseOp : u32 {
  preempt_lease_create = 0,  // KFD_PREEMPT_LEASE_CREATE
  preempt_lease_renew = 1,   // KFD_PREEMPT_LEASE_RENEW
};

// kfd_ioctl_preempt_lease_args. What a lease holds is given back when its last file descriptor is
// closed, when the process that created it ends or calls exec, and when its time runs out.
struct PreemptLeaseArgs {
  u32 op;          // in: PreemptLeaseOp
  u32 lease_fd;    // out on create, in on renew
  u32 timeout_ms;  // in: time to live from now on, 0 = no deadline
  u32 pad;         // 0
};
static_assert(sizeof(PreemptLeaseArgs) == 16);

// kfd_preempt_entry: one queue, or all queues, of one process.
struct PreemptEntry {
  u32 target;    // in: pid as the caller sees it, 0 = the caller; or an fd of its /dev/kfd
  u32 flags;     // in: kPreemptTargetFd
  u32 gpu_id;    // in: 0 = every GPU
  u32 queue_id;  // in: or kPreemptAllQueues
  i32 status;    // out: 0, kPreemptUnchanged or a negative errno
  u32 pad;       // 0
};
static_assert(sizeof(PreemptEntry) == 24);
static_assert(offsetof(PreemptEntry, status) == 16);

// kfd_ioctl_preempt_queue_args
struct PreemptQueueArgs {
  PreemptEntry entry;  // both
  u32 lease_fd;        // in
  u32 type;            // in: PreemptType
  u32 grace_period;    // in: 1K GPU clocks that waves get to end by themselves, 0 = the default
  u32 timeout_ms;      // in: longest wait for others at the same GPU, 0 = none; ETIME: no change
};
static_assert(sizeof(PreemptQueueArgs) == 40);

// kfd_ioctl_resume_queue_args
struct ResumeQueueArgs {
  PreemptEntry entry;  // both
  u32 lease_fd;        // in
  u32 timeout_ms;      // in
};
static_assert(sizeof(ResumeQueueArgs) == 32);

// kfd_ioctl_batch_queues_args, of BATCH_UNMAP_QUEUES and FAST_REMAP. The call succeeds if its
// arguments are well-formed; each entry has a status of its own.
struct BatchQueuesArgs {
  u64 entries_ptr;   // in: PreemptEntry[num_entries], written back with status
  u32 num_entries;   // in
  u32 lease_fd;      // in
  u32 type;          // in: PreemptType; 0 for FAST_REMAP
  u32 grace_period;  // in
  u32 timeout_ms;    // in
  u32 num_done;      // out: entries with status >= 0
};
static_assert(sizeof(BatchQueuesArgs) == 32);

// kfd_ioctl_swap_queues_args. Stops before it resumes: a queue in both lists runs afterwards.
struct SwapQueuesArgs {
  u64 preempt_ptr;   // in: PreemptEntry[num_preempt], written back with status
  u64 resume_ptr;    // in: PreemptEntry[num_resume], written back with status
  u32 num_preempt;   // in
  u32 num_resume;    // in
  u32 lease_fd;      // in
  u32 type;          // in: PreemptType
  u32 grace_period;  // in
  u32 timeout_ms;    // in
};
static_assert(sizeof(SwapQueuesArgs) == 40);

// KFD_HQD_QUEUE_*: active, or the reasons why it is not.
constexpr u32 kHqdQueueActive = 1u << 0;  // in the runlist; on hardware in turns if there are many
constexpr u32 kHqdQueueEvicted = 1u << 1;
constexpr u32 kHqdQueueSuspended = 1u << 2;  // by a debugger
constexpr u32 kHqdQueueHeld = 1u << 3;       // by a lease
constexpr u32 kHqdQueueWaiting = 1u << 4;    // for a slot that is not reserved
constexpr u32 kHqdQueueDemoted = 1u << 5;    // active or not, by a lease

// kfd_hqd_queue
struct HqdQueue {
  u32 pid;           // as the caller sees it
  u32 queue_id;      // in its process
  u32 queue_type;    // QueueTypeIoc
  u32 priority;      // 0 to 15
  u32 flags;         // kHqdQueue*
  u32 num_holds;     // under different leases
  u32 doorbell_off;  // doorbell index, as in the hardware registers
  u32 pad;
};
static_assert(sizeof(HqdQueue) == 32);

// KFD_HQD_STATUS_*
constexpr u32 kHqdOversubscribed = 1u << 0;
constexpr u32 kHqdMes = 1u << 1;  // MES schedules: oversubscription is unknown to the driver

// kfd_ioctl_hqd_status_args. The counts are of everybody; the array has the caller's own queues,
// and those of others if it has CAP_SYS_NICE.
struct HqdStatusArgs {
  u64 queues_ptr;             // in: HqdQueue[num_queues]
  u32 num_queues;             // both: room; how many the caller may see, which can be more
  u32 gpu_id;                 // in
  u32 flags;                  // out: kHqd*
  u32 num_slots;              // out: hardware slots of compute queues
  u32 num_vmids;              // out: processes that fit at a time
  u32 num_processes;          // out: processes with queues
  u32 total_queues;           // out
  u32 active_queues;          // out
  u32 active_compute_queues;  // out: those of them that need a slot
  u32 held_queues;            // out
  u32 waiting_queues;         // out
  u32 reserved_slots;         // out
};
static_assert(sizeof(HqdStatusArgs) == 56);
static_assert(offsetof(HqdStatusArgs, reserved_slots) == 52);

constexpr u32 kHqdRotateMinMs = 10;       // KFD_HQD_ROTATE_MIN_MS
constexpr u32 kHqdRotateDefaultMs = 100;  // KFD_HQD_ROTATE_DEFAULT_MS

// kfd_ioctl_hqd_reservation_args. Needs CAP_SYS_NICE; a GPU has one reservation at a time, and it
// ends with its lease.
struct HqdReservationArgs {
  u32 lease_fd;        // in
  u32 gpu_id;          // in
  u32 reserved_slots;  // in: below num_slots, 0 = end the reservation
  u32 low_priority;    // in: compute queues of this priority or less cannot take reserved slots
  u32 rotate_ms;       // in: how often waiting queues get a turn, 0 = kHqdRotateDefaultMs
  u32 pad;             // 0
};
static_assert(sizeof(HqdReservationArgs) == 24);

}  // namespace gp::abi
