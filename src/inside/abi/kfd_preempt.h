// The preemption calls of /dev/kfd that the kernel series in kernel/patches adds: stop and resume
// queues of any process, under leases that give them back. docs/kernel.md explains them;
// the names in comments are those of the patched uapi/linux/kfd_ioctl.h.
//
// A stock driver does not know the numbers: ENOTTY upstream, EINVAL from AMD's DKMS driver. Whether
// it is patched is asked with GET_PREEMPT_CAPS, never concluded from the version of the interface,
// which stays the same.
//
// How it grows: arguments get longer at their end (the driver takes shorter ones for such whose end
// is zero), entries of arrays too (the caller says how long its own are), and what must not be
// overlooked gets a bit of flags, which a driver that does not know it refuses with EINVAL.
#pragma once

#include <cstddef>

#include "libc/types.h"

namespace gp::abi {

// Far above the numbers of the stock driver (up to 0x26) and of AMD's DKMS driver (from 0x80),
// because both append to theirs.
enum PreemptNr : u32 {
  kfd_get_preempt_caps = 0xe0,      // _IOWR, PreemptCapsArgs
  kfd_preempt_lease = 0xe1,         // _IOWR, PreemptLeaseArgs
  kfd_preempt_queue = 0xe2,         // _IOWR, PreemptQueueArgs
  kfd_resume_queue = 0xe3,          // _IOWR, PreemptQueueArgs
  kfd_batch_unmap_queues = 0xe4,    // _IOWR, BatchQueuesArgs
  kfd_fast_remap = 0xe5,            // _IOWR, BatchQueuesArgs
  kfd_swap_queues = 0xe6,           // _IOWR, SwapQueuesArgs
  kfd_get_queue_status = 0xe7,      // _IOWR, QueueStatusArgs
  kfd_set_slot_reservation = 0xe8,  // _IOW, SlotReservationArgs
};

constexpr u32 kPreemptVersion = 2;             // KFD_PREEMPT_VERSION
constexpr u32 kPreemptMaxEntries = 4096;       // KFD_PREEMPT_MAX_ENTRIES, of one list
constexpr u32 kPreemptMaxGracePeriod = 255;    // KFD_PREEMPT_MAX_GRACE_PERIOD, 1K GPU clocks
constexpr u32 kPreemptMaxLeases = 64;          // KFD_PREEMPT_MAX_LEASES, of one process
constexpr u32 kPreemptMaxTimeoutMs = 60000;    // KFD_PREEMPT_MAX_TIMEOUT_MS, of a lease
constexpr u32 kPreemptAllQueues = 0xffffffff;  // KFD_PREEMPT_ALL_QUEUES, future ones included
constexpr i32 kPreemptUnchanged = 1;           // KFD_PREEMPT_UNCHANGED: it was so already
constexpr u32 kPreemptTargetFd = 1u << 0;      // KFD_PREEMPT_TARGET_FD: the target is no pid

// The trigger of SMI eviction events that stands for a lease (KFD_QUEUE_EVICTION_PREEMPT).
constexpr u32 kEvictionPreempt = 0xe0;

// KFD_PREEMPT_CAP_*
constexpr u32 kPreemptCapQueues = 1u << 0;       // 0xe2 to 0xe6
constexpr u32 kPreemptCapStatus = 1u << 1;       // GET_QUEUE_STATUS
constexpr u32 kPreemptCapReservation = 1u << 2;  // SET_SLOT_RESERVATION and preempt_low
constexpr u32 kPreemptCapEarly = 1u << 3;        // the calls of early.h
constexpr u32 kPreemptCapDemote = 1u << 4;       // preempt_demote
// A stop takes only the queues it names off the GPU; the others do not notice. Kept for a driver
// that can: none says so yet. Without it a GPU whose scheduler is the HWS interrupts everybody.
constexpr u32 kPreemptCapSelective = 1u << 5;

// enum kfd_ioc_preempt_type. 0 and 1 are not used.
enum PreemptType : u32 {
  preempt_save = 2,    // stopped, running waves are saved
  preempt_demote = 3,  // they run on, after all that are not demoted; needs kPreemptCapDemote
  // Not stopped, but one of those that cannot take the slots which this lease has reserved or will
  // reserve; needs kPreemptCapReservation. Independent of the other two.
  preempt_low = 4,
};

// kfd_ioctl_preempt_caps_args
struct PreemptCapsArgs {
  u32 version;           // out
  u32 flags;             // in: 0
  u32 gpu_id;            // in: 0 = what the driver knows, else what works on this GPU
  u32 caps;              // out: kPreemptCap*
  u32 max_entries;       // out
  u32 max_grace_period;  // out: 0 = this GPU has no grace period, and ignores one
  u32 max_leases;        // out
  u32 max_timeout_ms;    // out
};
static_assert(sizeof(PreemptCapsArgs) == 32);

enum PreemptLeaseOp : u32 {
  preempt_lease_create = 0,  // KFD_PREEMPT_LEASE_CREATE
  preempt_lease_renew = 1,   // KFD_PREEMPT_LEASE_RENEW
};

// kfd_ioctl_preempt_lease_args. What a lease holds is given back when its last file descriptor is
// closed, when the process that created it ends or calls exec, and when its time runs out: then
// poll(2) says POLLHUP until it is renewed.
struct PreemptLeaseArgs {
  u32 op;          // in: PreemptLeaseOp
  u32 lease_fd;    // out on create, in on renew
  u32 timeout_ms;  // in: time to live from now on, up to kPreemptMaxTimeoutMs; 0 on create only:
                   // no deadline, and then it can hold its own process alone
  u32 flags;       // in: 0
};
static_assert(sizeof(PreemptLeaseArgs) == 16);

// kfd_preempt_entry: one queue, or all queues, of one process.
struct PreemptEntry {
  u32 target;    // in: pid as the caller sees it, 0 = the caller; or an fd of its /dev/kfd
  u32 flags;     // in: kPreemptTargetFd
  u32 gpu_id;    // in: 0 = every GPU; else one of the caller's
  u32 queue_id;  // in: or kPreemptAllQueues
  i32 status;    // out: 0, kPreemptUnchanged or a negative errno
  u32 pad;       // in: 0
};
static_assert(sizeof(PreemptEntry) == 24);
static_assert(offsetof(PreemptEntry, status) == 16);

// kfd_ioctl_preempt_queue_args, of PREEMPT_QUEUE and RESUME_QUEUE
struct PreemptQueueArgs {
  u32 lease_fd;        // in
  u32 flags;           // in: 0
  u32 type;            // in: PreemptType; to resume 0 (saved and demoted) or preempt_low
  u32 grace_period;    // in: 1K GPU clocks that waves get to end by themselves, 0 = the default
  u32 timeout_ms;      // in: longest wait for others at the same GPU, 0 = none
  u32 pad;             // in: 0
  PreemptEntry entry;  // both
};
static_assert(sizeof(PreemptQueueArgs) == 48);

// kfd_ioctl_batch_queues_args, of BATCH_UNMAP_QUEUES and FAST_REMAP. The call succeeds if its
// arguments are well-formed; each entry has a status of its own.
struct BatchQueuesArgs {
  u64 entries_ptr;   // in: PreemptEntry[num_entries], written back with status
  u32 num_entries;   // in
  u32 entry_size;    // in: sizeof(PreemptEntry)
  u32 lease_fd;      // in
  u32 flags;         // in: 0
  u32 type;          // in: as in PreemptQueueArgs
  u32 grace_period;  // in
  u32 timeout_ms;    // in
  u32 num_done;      // out: entries with status >= 0
};
static_assert(sizeof(BatchQueuesArgs) == 40);

// kfd_ioctl_swap_queues_args. Stops before it resumes: a queue in both lists runs afterwards.
struct SwapQueuesArgs {
  u64 preempt_ptr;   // in: PreemptEntry[num_preempt], written back with status
  u64 resume_ptr;    // in: PreemptEntry[num_resume], written back with status
  u32 num_preempt;   // in
  u32 num_resume;    // in
  u32 entry_size;    // in: sizeof(PreemptEntry), of both
  u32 lease_fd;      // in
  u32 flags;         // in: 0
  u32 type;          // in: preempt_save or preempt_demote, of the first list
  u32 grace_period;  // in
  u32 timeout_ms;    // in
};
static_assert(sizeof(SwapQueuesArgs) == 48);

// KFD_QUEUE_STATUS_*: active, or the reasons why it is not.
constexpr u32 kQueueStatusActive = 1u << 0;  // in the runlist; on hardware in turns if many are
constexpr u32 kQueueStatusEvicted = 1u << 1;
constexpr u32 kQueueStatusSuspended = 1u << 2;  // by a debugger
constexpr u32 kQueueStatusHeld = 1u << 3;       // by a lease
constexpr u32 kQueueStatusWaiting = 1u << 4;    // for a slot that is not reserved
constexpr u32 kQueueStatusDemoted = 1u << 5;    // active or not, by a lease
constexpr u32 kQueueStatusLow = 1u << 6;    // active or not: named so by the lease that reserves
constexpr u32 kQueueStatusReset = 1u << 7;  // its work was destroyed; it does not run again

// kfd_queue_status
struct QueueStatus {
  u32 pid;           // as the caller sees it
  u32 queue_id;      // in its process
  u32 queue_type;    // QueueTypeIoc
  u32 priority;      // 0 to 15
  u32 flags;         // kQueueStatus*
  u32 num_holds;     // under different leases, that stop it
  u32 doorbell_off;  // doorbell index, as in the hardware registers
  u32 pad;           // 0
};
static_assert(sizeof(QueueStatus) == 32);

// KFD_SCHEDULER_*
constexpr u32 kSchedulerOversubscribed = 1u << 0;
constexpr u32 kSchedulerMes = 1u << 1;  // oversubscription is then unknown to the driver

// kfd_ioctl_queue_status_args. The counts are of everybody; the array has the caller's own queues,
// and those of others if it has CAP_SYS_NICE.
struct QueueStatusArgs {
  u64 queues_ptr;             // in: QueueStatus[num_queues]
  u32 num_queues;             // both: room; how many the caller may see, which can be more
  u32 entry_size;             // both: sizeof(QueueStatus); what the driver's is
  u32 gpu_id;                 // in: one of the caller's
  u32 flags;                  // in: 0
  u32 scheduler;              // out: kScheduler*
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
static_assert(sizeof(QueueStatusArgs) == 64);
static_assert(offsetof(QueueStatusArgs, reserved_slots) == 60);

constexpr u32 kSlotRotateMinMs = 10;       // KFD_SLOT_ROTATE_MIN_MS
constexpr u32 kSlotRotateDefaultMs = 100;  // KFD_SLOT_ROTATE_DEFAULT_MS

// kfd_ioctl_slot_reservation_args. Needs CAP_SYS_NICE; a GPU has one reservation at a time, and it
// ends with its lease. It binds the compute queues that the same lease has named preempt_low.
struct SlotReservationArgs {
  u32 lease_fd;        // in
  u32 gpu_id;          // in: one of the caller's
  u32 flags;           // in: 0
  u32 reserved_slots;  // in: below num_slots, 0 = end the reservation
  u32 rotate_ms;       // in: how often waiting queues get a turn, 0 = kSlotRotateDefaultMs
  u32 pad;             // in: 0
};
static_assert(sizeof(SlotReservationArgs) == 24);

}  // namespace gp::abi
