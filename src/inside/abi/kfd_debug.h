// The debugger's part of the ioctl interface of /dev/kfd (kfd.h): DBG_TRAP with its operations,
// exceptions, snapshots, RUNTIME_ENABLE, and the save area that a debugger reads.
#pragma once

#include <cstddef>

#include "libc/types.h"

namespace gp::abi {

// enum kfd_dbg_trap_exception_code
enum Exception : u32 {
  ec_none = 0,
  ec_queue_wave_abort = 1,
  ec_queue_wave_trap = 2,
  ec_queue_wave_math_error = 3,
  ec_queue_wave_illegal_instruction = 4,
  ec_queue_wave_memory_violation = 5,
  ec_queue_wave_aperture_violation = 6,
  ec_queue_packet_dispatch_dim_invalid = 16,
  ec_queue_packet_dispatch_group_segment_size_invalid = 17,
  ec_queue_packet_dispatch_code_invalid = 18,
  ec_queue_packet_reserved = 19,
  ec_queue_packet_unsupported = 20,
  ec_queue_packet_dispatch_work_group_size_invalid = 21,
  ec_queue_packet_dispatch_register_invalid = 22,
  ec_queue_packet_vendor_unsupported = 23,
  ec_queue_preemption_error = 30,
  ec_queue_new = 31,
  ec_device_queue_delete = 32,
  ec_device_memory_violation = 33,
  ec_device_ras_error = 34,
  ec_device_fatal_halt = 35,
  ec_device_new = 36,
  ec_process_runtime = 48,
  ec_process_device_remove = 49,
};
constexpr u64 ec_mask(u32 code) { return u64{1} << (code - 1); }  // KFD_EC_MASK
// KFD_EC_MASK_QUEUE, _DEVICE, _PROCESS
constexpr u64 kEcMaskQueue =
    0x3full | 0xffull << 15 | ec_mask(ec_queue_preemption_error) | ec_mask(ec_queue_new);
constexpr u64 kEcMaskDevice = 0x1full << 31;
constexpr u64 kEcMaskProcess = 0x3ull << 47;
static_assert(ec_mask(ec_queue_new) == 0x40000000);
static_assert(ec_mask(ec_device_queue_delete) == 0x80000000);
static_assert(ec_mask(ec_process_runtime) == 0x800000000000);

// enum kfd_dbg_runtime_state
enum RuntimeState : u32 {
  runtime_disabled = 0,
  runtime_enabled = 1,
  runtime_enabled_busy = 2,
  runtime_enabled_error = 3,
};

// kfd_runtime_info, 1.13
struct RuntimeInfo {
  u64 r_debug;
  u32 runtime_state;
  u32 ttmp_setup;
};
static_assert(sizeof(RuntimeInfo) == 16);

constexpr u32 kRuntimeEnable = 1;    // KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK
constexpr u32 kRuntimeTtmpSave = 2;  // KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK
// kfd_ioctl_runtime_enable_args, 1.13
struct RuntimeEnableArgs {
  u64 r_debug;            // in
  u32 mode_mask;          // in
  u32 capabilities_mask;  // out
};
static_assert(sizeof(RuntimeEnableArgs) == 16);

// enum kfd_dbg_trap_operations
enum DbgTrapOp : u32 {
  dbg_enable = 0,
  dbg_disable = 1,
  dbg_send_runtime_event = 2,
  dbg_set_exceptions_enabled = 3,
  dbg_set_wave_launch_override = 4,
  dbg_set_wave_launch_mode = 5,
  dbg_suspend_queues = 6,
  dbg_resume_queues = 7,
  dbg_set_node_address_watch = 8,
  dbg_clear_node_address_watch = 9,
  dbg_set_flags = 10,
  dbg_query_debug_event = 11,
  dbg_query_exception_info = 12,
  dbg_get_queue_snapshot = 13,
  dbg_get_device_snapshot = 14,
};

// kfd_ioctl_dbg_trap_*_args
struct DbgEnableArgs {
  u64 exception_mask;  // in
  u64 rinfo_ptr;       // in
  u32 rinfo_size;      // both
  u32 dbg_fd;          // in
};
struct DbgSendRuntimeEventArgs {
  u64 exception_mask;  // in
  u32 gpu_id;          // in
  u32 queue_id;        // in
};
struct DbgSetExceptionsEnabledArgs {
  u64 exception_mask;  // in
};
struct DbgLaunchOverrideArgs {
  u32 override_mode;         // in
  u32 enable_mask;           // both
  u32 support_request_mask;  // both
  u32 pad;
};
struct DbgLaunchModeArgs {
  u32 launch_mode;  // in
  u32 pad;
};
struct DbgSuspendQueuesArgs {
  u64 exception_mask;   // in: cleared on success
  u64 queue_array_ptr;  // in: u32[num_queues], written back with status bits
  u32 num_queues;       // in
  u32 grace_period;     // in: 1K GPU clocks, 1..255
};
struct DbgResumeQueuesArgs {
  u64 queue_array_ptr;  // in: null means all queues
  u32 num_queues;       // in
  u32 pad;
};
struct DbgSetAddressWatchArgs {
  u64 address;  // in
  u32 mode;     // in
  u32 mask;     // in
  u32 gpu_id;   // in
  u32 id;       // out
};
struct DbgClearAddressWatchArgs {
  u32 gpu_id;  // in
  u32 id;      // in
};
struct DbgSetFlagsArgs {
  u32 flags;  // both
  u32 pad;
};
struct DbgQueryDebugEventArgs {
  u64 exception_mask;  // both: clear; raised
  u32 gpu_id;          // out
  u32 queue_id;        // out
};
struct DbgQueryExceptionInfoArgs {
  u64 info_ptr;         // in
  u32 info_size;        // both
  u32 source_id;        // in
  u32 exception_code;   // in
  u32 clear_exception;  // in
};
struct DbgSnapshotArgs {  // kfd_ioctl_dbg_trap_{queue,device}_snapshot_args
  u64 exception_mask;     // in: cleared
  u64 snapshot_buf_ptr;   // in
  u32 count;              // both: room; how many there are (num_queues, num_devices)
  u32 entry_size;         // both: stride; bytes written per entry
};

// kfd_ioctl_dbg_trap_args, 1.13
struct DbgTrapArgs {
  u32 pid;  // in
  u32 op;   // in: DbgTrapOp
  union {
    DbgEnableArgs enable;
    DbgSendRuntimeEventArgs send_runtime_event;
    DbgSetExceptionsEnabledArgs set_exceptions_enabled;
    DbgLaunchOverrideArgs launch_override;
    DbgLaunchModeArgs launch_mode;
    DbgSuspendQueuesArgs suspend_queues;
    DbgResumeQueuesArgs resume_queues;
    DbgSetAddressWatchArgs set_address_watch;
    DbgClearAddressWatchArgs clear_address_watch;
    DbgSetFlagsArgs set_flags;
    DbgQueryDebugEventArgs query_debug_event;
    DbgQueryExceptionInfoArgs query_exception_info;
    DbgSnapshotArgs queue_snapshot;
    DbgSnapshotArgs device_snapshot;
  };
};
static_assert(sizeof(DbgTrapArgs) == 32);
static_assert(offsetof(DbgTrapArgs, suspend_queues.num_queues) == 24);
static_assert(offsetof(DbgTrapArgs, resume_queues.num_queues) == 16);
static_assert(offsetof(DbgTrapArgs, enable.dbg_fd) == 28);

// Status bits in the queue array of SUSPEND_QUEUES and RESUME_QUEUES (KFD_DBG_QUEUE_*_MASK).
constexpr u32 kQueueErrorMask = 1u << 30;           // the hardware failed
constexpr u32 kQueueInvalidMask = 1u << 31;         // unknown, new or being destroyed
constexpr u32 kUseDefaultGracePeriod = 0xffffffff;  // USE_DEFAULT_GRACE_PERIOD
constexpr u32 kMaxQueuesPerProcess = 1024;          // KFD_MAX_NUM_OF_QUEUES_PER_PROCESS

// kfd_queue_snapshot_entry, 1.13
struct QueueSnapshotEntry {
  u64 exception_status;
  u64 ring_base_address;
  u64 write_pointer_address;
  u64 read_pointer_address;
  u64 ctx_save_restore_address;
  u32 queue_id;
  u32 gpu_id;
  u32 ring_size;
  u32 queue_type;  // QueueTypeIoc
  u32 ctx_save_restore_area_size;
  u32 reserved;
};
static_assert(sizeof(QueueSnapshotEntry) == 64);

// kfd_dbg_device_info_entry, 1.13
struct DeviceSnapshotEntry {
  u64 exception_status;
  u64 lds_base;
  u64 lds_limit;
  u64 scratch_base;
  u64 scratch_limit;
  u64 gpuvm_base;
  u64 gpuvm_limit;
  u32 gpu_id;
  u32 location_id;
  u32 vendor_id;
  u32 device_id;
  u32 revision_id;
  u32 subsystem_vendor_id;
  u32 subsystem_device_id;
  u32 fw_version;
  u32 gfx_target_version;
  u32 simd_count;
  u32 max_waves_per_simd;
  u32 array_count;
  u32 simd_arrays_per_engine;
  u32 num_xcc;
  u32 capability;
  u32 debug_prop;
};
static_assert(sizeof(DeviceSnapshotEntry) == 120);
static_assert(offsetof(DeviceSnapshotEntry, gfx_target_version) == 88);

// kfd_context_save_area_header: at the base of each queue's save area.
struct ContextSaveAreaHeader {
  u32 control_stack_offset;
  u32 control_stack_size;
  u32 wave_state_offset;
  u32 wave_state_size;
  u32 debug_offset;
  u32 debug_size;
  u64 err_payload_addr;
  u32 err_event_id;
  u32 reserved1;
};
static_assert(sizeof(ContextSaveAreaHeader) == 40);

}  // namespace gp::abi
