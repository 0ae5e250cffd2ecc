// The names of the patched uapi/linux/kfd_ioctl.h, as far as kernel/tests/conformance uses them,
// for what src/inside/abi says. In the virtual machine the tests are built with the kernel's own
// header: passing in both places, they show that src/inside/abi has the same structs, numbers and
// constants.
#pragma once

#include <sys/ioctl.h>

#include "abi/early.h"
#include "abi/kfd.h"
#include "abi/kfd_preempt.h"

// ---- structs ----

using kfd_ioctl_get_version_args = gp::abi::GetVersionArgs;
using kfd_ioctl_create_queue_args = gp::abi::CreateQueueArgs;
using kfd_ioctl_destroy_queue_args = gp::abi::DestroyQueueArgs;
using kfd_ioctl_update_queue_args = gp::abi::UpdateQueueArgs;
using kfd_ioctl_acquire_vm_args = gp::abi::AcquireVmArgs;
using kfd_ioctl_alloc_memory_of_gpu_args = gp::abi::AllocMemoryArgs;
using kfd_ioctl_map_memory_to_gpu_args = gp::abi::MapMemoryArgs;
using kfd_ioctl_smi_events_args = gp::abi::SmiEventsArgs;
using kfd_ioctl_criu_args = gp::abi::CriuArgs;
using kfd_ioctl_runtime_enable_args = gp::abi::RuntimeEnableArgs;
using kfd_ioctl_dbg_trap_args = gp::abi::DbgTrapArgs;
using kfd_runtime_info = gp::abi::RuntimeInfo;
using kfd_queue_snapshot_entry = gp::abi::QueueSnapshotEntry;

using kfd_preempt_entry = gp::abi::PreemptEntry;
using kfd_queue_status = gp::abi::QueueStatus;
using kfd_ioctl_preempt_caps_args = gp::abi::PreemptCapsArgs;
using kfd_ioctl_preempt_lease_args = gp::abi::PreemptLeaseArgs;
using kfd_ioctl_preempt_queue_args = gp::abi::PreemptQueueArgs;
using kfd_ioctl_batch_queues_args = gp::abi::BatchQueuesArgs;
using kfd_ioctl_swap_queues_args = gp::abi::SwapQueuesArgs;
using kfd_ioctl_queue_status_args = gp::abi::QueueStatusArgs;
using kfd_ioctl_slot_reservation_args = gp::abi::SlotReservationArgs;
using kfd_ioctl_early_preempt_args = gp::abi::EarlyPreemptArgs;

// ---- numbers ----

constexpr unsigned long AMDKFD_IOC_GET_VERSION =
    _IOR('K', gp::abi::kfd_get_version, kfd_ioctl_get_version_args);
constexpr unsigned long AMDKFD_IOC_CREATE_QUEUE =
    _IOWR('K', gp::abi::kfd_create_queue, kfd_ioctl_create_queue_args);
constexpr unsigned long AMDKFD_IOC_DESTROY_QUEUE =
    _IOWR('K', gp::abi::kfd_destroy_queue, kfd_ioctl_destroy_queue_args);
constexpr unsigned long AMDKFD_IOC_UPDATE_QUEUE =
    _IOW('K', gp::abi::kfd_update_queue, kfd_ioctl_update_queue_args);
constexpr unsigned long AMDKFD_IOC_ACQUIRE_VM =
    _IOW('K', gp::abi::kfd_acquire_vm, kfd_ioctl_acquire_vm_args);
constexpr unsigned long AMDKFD_IOC_ALLOC_MEMORY_OF_GPU =
    _IOWR('K', gp::abi::kfd_alloc_memory_of_gpu, kfd_ioctl_alloc_memory_of_gpu_args);
constexpr unsigned long AMDKFD_IOC_MAP_MEMORY_TO_GPU =
    _IOWR('K', gp::abi::kfd_map_memory_to_gpu, kfd_ioctl_map_memory_to_gpu_args);
constexpr unsigned long AMDKFD_IOC_SMI_EVENTS =
    _IOWR('K', gp::abi::kfd_smi_events, kfd_ioctl_smi_events_args);
constexpr unsigned long AMDKFD_IOC_CRIU_OP = _IOWR('K', gp::abi::kfd_criu_op, kfd_ioctl_criu_args);
constexpr unsigned long AMDKFD_IOC_RUNTIME_ENABLE =
    _IOWR('K', gp::abi::kfd_runtime_enable, kfd_ioctl_runtime_enable_args);
constexpr unsigned long AMDKFD_IOC_DBG_TRAP =
    _IOWR('K', gp::abi::kfd_dbg_trap, kfd_ioctl_dbg_trap_args);

constexpr unsigned long AMDKFD_IOC_GET_PREEMPT_CAPS =
    _IOWR('K', gp::abi::kfd_get_preempt_caps, kfd_ioctl_preempt_caps_args);
constexpr unsigned long AMDKFD_IOC_PREEMPT_LEASE =
    _IOWR('K', gp::abi::kfd_preempt_lease, kfd_ioctl_preempt_lease_args);
constexpr unsigned long AMDKFD_IOC_PREEMPT_QUEUE =
    _IOWR('K', gp::abi::kfd_preempt_queue, kfd_ioctl_preempt_queue_args);
constexpr unsigned long AMDKFD_IOC_RESUME_QUEUE =
    _IOWR('K', gp::abi::kfd_resume_queue, kfd_ioctl_preempt_queue_args);
constexpr unsigned long AMDKFD_IOC_BATCH_UNMAP_QUEUES =
    _IOWR('K', gp::abi::kfd_batch_unmap_queues, kfd_ioctl_batch_queues_args);
constexpr unsigned long AMDKFD_IOC_FAST_REMAP =
    _IOWR('K', gp::abi::kfd_fast_remap, kfd_ioctl_batch_queues_args);
constexpr unsigned long AMDKFD_IOC_SWAP_QUEUES =
    _IOWR('K', gp::abi::kfd_swap_queues, kfd_ioctl_swap_queues_args);
constexpr unsigned long AMDKFD_IOC_GET_QUEUE_STATUS =
    _IOWR('K', gp::abi::kfd_get_queue_status, kfd_ioctl_queue_status_args);
constexpr unsigned long AMDKFD_IOC_SET_SLOT_RESERVATION =
    _IOW('K', gp::abi::kfd_set_slot_reservation, kfd_ioctl_slot_reservation_args);
constexpr unsigned long AMDKFD_IOC_EARLY_PREEMPT_QUEUE =
    _IOWR('K', gp::abi::early_preempt_queue, kfd_ioctl_early_preempt_args);
constexpr unsigned long AMDKFD_IOC_EARLY_RESUME_QUEUE =
    _IOWR('K', gp::abi::early_resume_queue, kfd_ioctl_early_preempt_args);

// ---- constants ----

constexpr unsigned KFD_IOC_QUEUE_TYPE_SDMA = gp::abi::queue_type_sdma;
constexpr unsigned KFD_IOC_QUEUE_TYPE_COMPUTE_AQL = gp::abi::queue_type_compute_aql;
constexpr unsigned KFD_IOC_ALLOC_MEM_FLAGS_USERPTR = gp::abi::alloc_userptr;
constexpr unsigned KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE = gp::abi::alloc_writable;
constexpr unsigned KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK = gp::abi::kRuntimeEnable;
constexpr unsigned KFD_IOC_DBG_TRAP_ENABLE = gp::abi::dbg_enable;
constexpr unsigned KFD_IOC_DBG_TRAP_SUSPEND_QUEUES = gp::abi::dbg_suspend_queues;
constexpr unsigned KFD_IOC_DBG_TRAP_RESUME_QUEUES = gp::abi::dbg_resume_queues;
constexpr unsigned KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT = gp::abi::dbg_get_queue_snapshot;
constexpr unsigned EC_QUEUE_NEW = gp::abi::ec_queue_new;
constexpr auto KFD_EC_MASK = gp::abi::ec_mask;
constexpr unsigned KFD_CRIU_OP_PROCESS_INFO = gp::abi::criu_process_info;
constexpr unsigned KFD_CRIU_OP_UNPAUSE = gp::abi::criu_unpause;
constexpr unsigned KFD_SMI_EVENT_QUEUE_EVICTION = gp::abi::smi_queue_eviction;
constexpr unsigned KFD_SMI_EVENT_QUEUE_RESTORE = gp::abi::smi_queue_restore;
constexpr unsigned KFD_SMI_EVENT_ALL_PROCESS = gp::abi::smi_all_process;
constexpr auto KFD_SMI_EVENT_MASK_FROM_INDEX = gp::abi::smi_mask;
constexpr unsigned KFD_QUEUE_EVICTION_PREEMPT = gp::abi::kEvictionPreempt;

constexpr unsigned KFD_PREEMPT_ALL_QUEUES = gp::abi::kPreemptAllQueues;
constexpr unsigned KFD_PREEMPT_TARGET_FD = gp::abi::kPreemptTargetFd;
constexpr unsigned KFD_PREEMPT_MAX_GRACE_PERIOD = gp::abi::kPreemptMaxGracePeriod;
constexpr unsigned KFD_PREEMPT_LEASE_CREATE = gp::abi::preempt_lease_create;
constexpr unsigned KFD_PREEMPT_LEASE_RENEW = gp::abi::preempt_lease_renew;
constexpr unsigned KFD_IOC_PREEMPT_SAVE = gp::abi::preempt_save;
constexpr unsigned KFD_IOC_PREEMPT_DEMOTE = gp::abi::preempt_demote;
constexpr unsigned KFD_EARLY_PREEMPT_DRAIN = gp::abi::early_drain;
constexpr unsigned KFD_EARLY_PREEMPT_RESET = gp::abi::early_reset;
constexpr unsigned KFD_EARLY_PREEMPT_SAVE = gp::abi::early_save;
constexpr unsigned KFD_IOC_PREEMPT_LOW = gp::abi::preempt_low;
constexpr unsigned KFD_PREEMPT_VERSION = gp::abi::kPreemptVersion;
constexpr unsigned KFD_PREEMPT_UNCHANGED = gp::abi::kPreemptUnchanged;
constexpr unsigned KFD_PREEMPT_MAX_ENTRIES = gp::abi::kPreemptMaxEntries;
constexpr unsigned KFD_PREEMPT_MAX_LEASES = gp::abi::kPreemptMaxLeases;
constexpr unsigned KFD_PREEMPT_MAX_TIMEOUT_MS = gp::abi::kPreemptMaxTimeoutMs;
constexpr unsigned KFD_PREEMPT_CAP_QUEUES = gp::abi::kPreemptCapQueues;
constexpr unsigned KFD_PREEMPT_CAP_STATUS = gp::abi::kPreemptCapStatus;
constexpr unsigned KFD_PREEMPT_CAP_RESERVATION = gp::abi::kPreemptCapReservation;
constexpr unsigned KFD_PREEMPT_CAP_EARLY = gp::abi::kPreemptCapEarly;
constexpr unsigned KFD_PREEMPT_CAP_DEMOTE = gp::abi::kPreemptCapDemote;
constexpr unsigned KFD_PREEMPT_CAP_SELECTIVE = gp::abi::kPreemptCapSelective;
constexpr unsigned KFD_QUEUE_STATUS_EVICTED = gp::abi::kQueueStatusEvicted;
constexpr unsigned KFD_QUEUE_STATUS_SUSPENDED = gp::abi::kQueueStatusSuspended;
constexpr unsigned KFD_QUEUE_STATUS_WAITING = gp::abi::kQueueStatusWaiting;
constexpr unsigned KFD_QUEUE_STATUS_DEMOTED = gp::abi::kQueueStatusDemoted;
constexpr unsigned KFD_QUEUE_STATUS_LOW = gp::abi::kQueueStatusLow;
constexpr unsigned KFD_QUEUE_STATUS_RESET = gp::abi::kQueueStatusReset;
constexpr unsigned KFD_SCHEDULER_OVERSUBSCRIBED = gp::abi::kSchedulerOversubscribed;
constexpr unsigned KFD_SLOT_ROTATE_MIN_MS = gp::abi::kSlotRotateMinMs;
constexpr unsigned KFD_SLOT_ROTATE_DEFAULT_MS = gp::abi::kSlotRotateDefaultMs;
constexpr unsigned KFD_QUEUE_STATUS_ACTIVE = gp::abi::kQueueStatusActive;
constexpr unsigned KFD_QUEUE_STATUS_HELD = gp::abi::kQueueStatusHeld;
constexpr unsigned KFD_SCHEDULER_MES = gp::abi::kSchedulerMes;
