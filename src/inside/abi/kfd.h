// The ioctl interface of /dev/kfd, versions 1.7 to 1.17, and the two IPC ioctls of AMD's DKMS
// driver.
//
// Data only: numbers, argument structs, flags. Each struct names its upstream counterpart in
// uapi/linux/kfd_ioctl.h (Linux 6.12) and the interface version that brought it or last changed it;
// without a version it is older than 1.7. Comments after a field say which way it travels: in (to
// the driver), out, or both.
//
// The driver dispatches by _IOC_NR alone and copies as many bytes as the caller's _IOC_SIZE says:
// a caller built against an older header passes a shorter struct and is served.
#pragma once

#include <cstddef>

#include "abi/kfd_debug.h"
#include "libc/types.h"

namespace gp::abi {

constexpr u32 kKfdIoctlBase = 'K';  // AMDKFD_IOCTL_BASE
constexpr u32 kKfdMajor = 1;        // KFD_IOCTL_MAJOR_VERSION

// ---- numbers (_IOC_NR) ----

// clang-format off
enum KfdNr : u32 {
  kfd_get_version               = 0x01,
  kfd_create_queue              = 0x02,
  kfd_destroy_queue             = 0x03,
  kfd_set_memory_policy         = 0x04,
  kfd_get_clock_counters        = 0x05,
  kfd_get_process_apertures     = 0x06,
  kfd_update_queue              = 0x07,
  kfd_create_event              = 0x08,
  kfd_destroy_event             = 0x09,
  kfd_set_event                 = 0x0a,
  kfd_reset_event               = 0x0b,
  kfd_wait_events               = 0x0c,
  kfd_dbg_register              = 0x0d,  // 0x0d to 0x10: AMDKFD_IOC_DBG_*_DEPRECATED
  kfd_dbg_unregister            = 0x0e,
  kfd_dbg_address_watch         = 0x0f,
  kfd_dbg_wave_control          = 0x10,
  kfd_set_scratch_backing_va    = 0x11,
  kfd_get_tile_config           = 0x12,
  kfd_set_trap_handler          = 0x13,
  kfd_get_process_apertures_new = 0x14,
  kfd_acquire_vm                = 0x15,
  kfd_alloc_memory_of_gpu       = 0x16,
  kfd_free_memory_of_gpu        = 0x17,
  kfd_map_memory_to_gpu         = 0x18,
  kfd_unmap_memory_from_gpu     = 0x19,
  kfd_set_cu_mask               = 0x1a,
  kfd_get_queue_wave_state      = 0x1b,
  kfd_get_dmabuf_info           = 0x1c,
  kfd_import_dmabuf             = 0x1d,
  kfd_alloc_queue_gws           = 0x1e,
  kfd_smi_events                = 0x1f,
  kfd_svm                       = 0x20,
  kfd_set_xnack_mode            = 0x21,
  kfd_criu_op                   = 0x22,  // 1.7
  kfd_available_memory          = 0x23,  // 1.9
  kfd_export_dmabuf             = 0x24,  // 1.12
  kfd_runtime_enable            = 0x25,  // 1.13
  kfd_dbg_trap                  = 0x26,  // 1.13
  kfd_ipc_import_handle         = 0x80,  // AMD DKMS only
  kfd_ipc_export_handle         = 0x81,  // AMD DKMS only
  kfd_dbg_trap_deprecated       = 0x82,  // the debugger of ROCm up to 5.4; AMD DKMS only
};
// clang-format on

// ---- version, queues ----

// kfd_ioctl_get_version_args
struct GetVersionArgs {
  u32 major_version;  // out
  u32 minor_version;  // out
};
static_assert(sizeof(GetVersionArgs) == 8);

// KFD_IOC_QUEUE_TYPE_*
enum QueueTypeIoc : u32 {
  queue_type_compute = 0,
  queue_type_sdma = 1,
  queue_type_compute_aql = 2,
  queue_type_sdma_xgmi = 3,
  queue_type_sdma_by_engine = 4,  // 1.17
};
constexpr u32 kMaxQueuePercentage = 100;  // KFD_MAX_QUEUE_PERCENTAGE
constexpr u32 kMaxQueuePriority = 15;     // KFD_MAX_QUEUE_PRIORITY
constexpr u32 kMinRingSize = 1024;        // KFD_MIN_QUEUE_RING_SIZE

// kfd_ioctl_create_queue_args; 88 bytes before 1.17, which added sdma_engine_id.
struct CreateQueueArgs {
  u64 ring_base_address;         // in
  u64 write_pointer_address;     // in
  u64 read_pointer_address;      // in
  u64 doorbell_offset;           // out: for mmap of /dev/kfd
  u32 ring_size;                 // in: bytes, a power of two
  u32 gpu_id;                    // in
  u32 queue_type;                // in: QueueTypeIoc
  u32 queue_percentage;          // in: [7:0] percent, [15:8] target XCC of a PM4 queue
  u32 queue_priority;            // in: 0..15
  u32 queue_id;                  // out
  u64 eop_buffer_address;        // in
  u64 eop_buffer_size;           // in
  u64 ctx_save_restore_address;  // in
  u32 ctx_save_restore_size;     // in
  u32 ctl_stack_size;            // in
  u32 sdma_engine_id;            // in, 1.17
  u32 pad;
};
static_assert(sizeof(CreateQueueArgs) == 96);
static_assert(offsetof(CreateQueueArgs, queue_id) == 52);
static_assert(offsetof(CreateQueueArgs, ctx_save_restore_address) == 72);
static_assert(offsetof(CreateQueueArgs, sdma_engine_id) == 88);

// kfd_ioctl_destroy_queue_args
struct DestroyQueueArgs {
  u32 queue_id;  // in
  u32 pad;
};
static_assert(sizeof(DestroyQueueArgs) == 8);

// kfd_ioctl_update_queue_args
struct UpdateQueueArgs {
  u64 ring_base_address;  // in
  u32 queue_id;           // in
  u32 ring_size;          // in
  u32 queue_percentage;   // in: 0 stops the queue, its waves are saved
  u32 queue_priority;     // in
};
static_assert(sizeof(UpdateQueueArgs) == 24);

// kfd_ioctl_set_cu_mask_args
struct SetCuMaskArgs {
  u32 queue_id;     // in
  u32 num_cu_mask;  // in: bits, a multiple of 32
  u64 cu_mask_ptr;  // in
};
static_assert(sizeof(SetCuMaskArgs) == 16);

// kfd_ioctl_get_queue_wave_state_args
struct GetQueueWaveStateArgs {
  u64 ctl_stack_address;    // in
  u32 ctl_stack_used_size;  // out
  u32 save_area_used_size;  // out
  u32 queue_id;             // in
  u32 pad;
};
static_assert(sizeof(GetQueueWaveStateArgs) == 24);

// kfd_ioctl_alloc_queue_gws_args
struct AllocQueueGwsArgs {
  u32 queue_id;   // in
  u32 num_gws;    // in: 0 gives it back
  u32 first_gws;  // out
  u32 pad;
};
static_assert(sizeof(AllocQueueGwsArgs) == 16);

// ---- the device ----

// KFD_IOC_CACHE_POLICY_*
enum CachePolicy : u32 { cache_policy_coherent = 0, cache_policy_noncoherent = 1 };

// kfd_ioctl_set_memory_policy_args
struct SetMemoryPolicyArgs {
  u64 alternate_aperture_base;  // in
  u64 alternate_aperture_size;  // in
  u32 gpu_id;                   // in
  u32 default_policy;           // in
  u32 alternate_policy;         // in
  u32 pad;
};
static_assert(sizeof(SetMemoryPolicyArgs) == 32);

// kfd_ioctl_get_clock_counters_args
struct GetClockCountersArgs {
  u64 gpu_clock_counter;     // out
  u64 cpu_clock_counter;     // out: CLOCK_MONOTONIC_RAW, ns
  u64 system_clock_counter;  // out: CLOCK_BOOTTIME, ns
  u64 system_clock_freq;     // out: Hz
  u32 gpu_id;                // in
  u32 pad;
};
static_assert(sizeof(GetClockCountersArgs) == 40);

// kfd_process_device_apertures
struct DeviceApertures {
  u64 lds_base;
  u64 lds_limit;
  u64 scratch_base;
  u64 scratch_limit;
  u64 gpuvm_base;
  u64 gpuvm_limit;
  u32 gpu_id;
  u32 pad;
};
static_assert(sizeof(DeviceApertures) == 56);

constexpr u32 kOldApertureLimit = 7;  // NUM_OF_SUPPORTED_GPUS
// kfd_ioctl_get_process_apertures_args
struct GetProcessAperturesArgs {
  DeviceApertures process_apertures[kOldApertureLimit];  // out
  u32 num_of_nodes;                                      // out
  u32 pad;
};
static_assert(sizeof(GetProcessAperturesArgs) == 400);

// kfd_ioctl_get_process_apertures_new_args
struct GetProcessAperturesNewArgs {
  u64 kfd_process_device_apertures_ptr;  // in
  u32 num_of_nodes;                      // both: room (0 asks for the number); entries written
  u32 pad;
};
static_assert(sizeof(GetProcessAperturesNewArgs) == 16);

// kfd_ioctl_set_scratch_backing_va_args
struct SetScratchBackingVaArgs {
  u64 va_addr;  // in
  u32 gpu_id;   // in
  u32 pad;
};
static_assert(sizeof(SetScratchBackingVaArgs) == 16);

// kfd_ioctl_get_tile_config_args
struct GetTileConfigArgs {
  u64 tile_config_ptr;         // in
  u64 macro_tile_config_ptr;   // in
  u32 num_tile_configs;        // both
  u32 num_macro_tile_configs;  // both
  u32 gpu_id;                  // in
  u32 gb_addr_config;          // out
  u32 num_banks;               // out
  u32 num_ranks;               // out
};
static_assert(sizeof(GetTileConfigArgs) == 40);

// kfd_ioctl_set_trap_handler_args
struct SetTrapHandlerArgs {
  u64 tba_addr;  // in
  u64 tma_addr;  // in
  u32 gpu_id;    // in
  u32 pad;
};
static_assert(sizeof(SetTrapHandlerArgs) == 24);

// kfd_ioctl_set_xnack_mode_args
struct SetXnackModeArgs {
  i32 xnack_enabled;  // both: negative asks
};
static_assert(sizeof(SetXnackModeArgs) == 4);

// ---- events ----

// KFD_IOC_EVENT_*
enum EventType : u32 {
  event_signal = 0,
  event_nodechange = 1,
  event_devicestatechange = 2,
  event_hw_exception = 3,
  event_system = 4,
  event_debug = 5,
  event_profile = 6,
  event_queue = 7,
  event_memory = 8,
};
constexpr u32 kSignalEventLimit = 4096;            // KFD_SIGNAL_EVENT_LIMIT
constexpr u32 kEventTimeoutImmediate = 0;          // KFD_EVENT_TIMEOUT_IMMEDIATE
constexpr u32 kEventTimeoutInfinite = 0xffffffff;  // KFD_EVENT_TIMEOUT_INFINITE

// KFD_IOC_WAIT_RESULT_*
enum WaitResult : u32 { wait_complete = 0, wait_timeout = 1, wait_fail = 2 };

// kfd_ioctl_create_event_args
struct CreateEventArgs {
  u64 event_page_offset;   // both: in, once, the handle of the event page's buffer
  u32 event_trigger_data;  // out
  u32 event_type;          // in
  u32 auto_reset;          // in
  u32 node_id;             // in
  u32 event_id;            // out
  u32 event_slot_index;    // out
};
static_assert(sizeof(CreateEventArgs) == 32);

// kfd_ioctl_destroy_event_args, kfd_ioctl_set_event_args, kfd_ioctl_reset_event_args
struct EventIdArgs {
  u32 event_id;  // in
  u32 pad;
};
static_assert(sizeof(EventIdArgs) == 8);

// kfd_memory_exception_failure
struct MemoryExceptionFailure {
  u32 not_present;
  u32 read_only;
  u32 no_execute;
  u32 imprecise;
};
// kfd_hsa_memory_exception_data
struct MemoryExceptionData {
  MemoryExceptionFailure failure;
  u64 va;
  u32 gpu_id;
  u32 error_type;  // KFD_MEM_ERR_*: 0 no RAS error
};
static_assert(sizeof(MemoryExceptionData) == 32);

// KFD_HW_EXCEPTION_*
constexpr u32 kResetWholeGpu = 0;
constexpr u32 kResetCauseHang = 0;
// kfd_hsa_hw_exception_data
struct HwExceptionData {
  u32 reset_type;
  u32 reset_cause;
  u32 memory_lost;
  u32 gpu_id;
};
static_assert(sizeof(HwExceptionData) == 16);

// kfd_event_data; last_event_age since 1.14
struct EventData {
  union {
    MemoryExceptionData memory_exception_data;  // out
    HwExceptionData hw_exception_data;          // out
    u64 last_event_age;                         // both; 0: do not look at the age
  };
  u64 kfd_event_data_ext;
  u32 event_id;  // in
  u32 pad;
};
static_assert(sizeof(EventData) == 48);
static_assert(offsetof(EventData, event_id) == 40);

// kfd_ioctl_wait_events_args
struct WaitEventsArgs {
  u64 events_ptr;    // in: EventData[num_events]
  u32 num_events;    // in
  u32 wait_for_all;  // in
  u32 timeout;       // in: ms
  u32 wait_result;   // out: WaitResult
};
static_assert(sizeof(WaitEventsArgs) == 24);

// ---- memory ----

// kfd_ioctl_acquire_vm_args
struct AcquireVmArgs {
  u32 drm_fd;  // in
  u32 gpu_id;  // in
};
static_assert(sizeof(AcquireVmArgs) == 8);

// KFD_IOC_ALLOC_MEM_FLAGS_*
enum AllocFlags : u32 {
  alloc_vram = 1u << 0,
  alloc_gtt = 1u << 1,
  alloc_userptr = 1u << 2,
  alloc_doorbell = 1u << 3,
  alloc_mmio_remap = 1u << 4,
  alloc_contiguous = 1u << 23,  // 1.16
  alloc_ext_coherent = 1u << 24,
  alloc_uncached = 1u << 25,
  alloc_coherent = 1u << 26,
  alloc_aql_queue_mem = 1u << 27,
  alloc_no_substitute = 1u << 28,
  alloc_public = 1u << 29,
  alloc_executable = 1u << 30,
  alloc_writable = 1u << 31,
};

// kfd_ioctl_alloc_memory_of_gpu_args
struct AllocMemoryArgs {
  u64 va_addr;      // in
  u64 size;         // in
  u64 handle;       // out
  u64 mmap_offset;  // both: in, the CPU address of a userptr; out, for mmap of the render node
  u32 gpu_id;       // in
  u32 flags;        // in: AllocFlags
};
static_assert(sizeof(AllocMemoryArgs) == 40);

// kfd_ioctl_free_memory_of_gpu_args
struct FreeMemoryArgs {
  u64 handle;  // in
};
static_assert(sizeof(FreeMemoryArgs) == 8);

// kfd_ioctl_map_memory_to_gpu_args, kfd_ioctl_unmap_memory_from_gpu_args
struct MapMemoryArgs {
  u64 handle;                // in
  u64 device_ids_array_ptr;  // in: u32[n_devices]
  u32 n_devices;             // in
  u32 n_success;             // both: skip these; done so far
};
static_assert(sizeof(MapMemoryArgs) == 24);

// kfd_ioctl_get_available_memory_args, 1.9
struct GetAvailableMemoryArgs {
  u64 available;  // out
  u32 gpu_id;     // in
  u32 pad;
};
static_assert(sizeof(GetAvailableMemoryArgs) == 16);

// kfd_ioctl_get_dmabuf_info_args
struct GetDmabufInfoArgs {
  u64 size;           // out
  u64 metadata_ptr;   // in
  u32 metadata_size;  // both
  u32 gpu_id;         // out
  u32 flags;          // out
  u32 dmabuf_fd;      // in
};
static_assert(sizeof(GetDmabufInfoArgs) == 32);

// kfd_ioctl_import_dmabuf_args
struct ImportDmabufArgs {
  u64 va_addr;    // in
  u64 handle;     // out
  u32 gpu_id;     // in
  u32 dmabuf_fd;  // in
};
static_assert(sizeof(ImportDmabufArgs) == 24);

// kfd_ioctl_export_dmabuf_args, 1.12
struct ExportDmabufArgs {
  u64 handle;     // in
  u32 flags;      // in
  u32 dmabuf_fd;  // out
};
static_assert(sizeof(ExportDmabufArgs) == 16);

// kfd_ioctl_svm_args, without the attributes that follow
struct SvmArgs {
  u64 start_addr;  // in
  u64 size;        // in
  u32 op;          // in
  u32 nattr;       // in: pairs {u32 type, value} after the struct
};
static_assert(sizeof(SvmArgs) == 24);

// kfd_ioctl_ipc_export_handle_args, AMD DKMS
struct IpcExportArgs {
  u64 handle;           // in
  u32 share_handle[4];  // out
  u32 gpu_id;           // in
  u32 flags;            // in
};
static_assert(sizeof(IpcExportArgs) == 32);

// kfd_ioctl_ipc_import_handle_args, AMD DKMS
struct IpcImportArgs {
  u64 handle;           // out
  u64 va_addr;          // in
  u64 mmap_offset;      // out
  u32 share_handle[4];  // in
  u32 gpu_id;           // in
  u32 flags;            // out: those of the export
};
static_assert(sizeof(IpcImportArgs) == 48);

// ---- system management events ----

// enum kfd_smi_event
enum SmiEvent : u32 {
  smi_vmfault = 1,
  smi_thermal_throttle = 2,
  smi_gpu_pre_reset = 3,
  smi_gpu_post_reset = 4,
  smi_queue_eviction = 9,
  smi_queue_restore = 10,
  smi_all_process = 64,  // a flag: events of other processes too; needs CAP_SYS_ADMIN
};
constexpr u64 smi_mask(u32 event) { return u64{1} << (event - 1); }

// enum KFD_QUEUE_EVICTION_TRIGGERS
enum EvictionTrigger : u32 {
  eviction_svm = 0,
  eviction_userptr = 1,
  eviction_ttm = 2,
  eviction_suspend = 3,
  eviction_criu_checkpoint = 4,
  eviction_criu_restore = 5,
};

// kfd_ioctl_smi_events_args
struct SmiEventsArgs {
  u32 gpuid;    // in
  u32 anon_fd;  // out
};
static_assert(sizeof(SmiEventsArgs) == 8);

// ---- checkpoint and restore ----

// enum kfd_criu_op
enum CriuOp : u32 {
  criu_process_info = 0,
  criu_checkpoint = 1,
  criu_unpause = 2,
  criu_restore = 3,
  criu_resume = 4,
};

// kfd_ioctl_criu_args, 1.7
struct CriuArgs {
  u64 devices;
  u64 bos;
  u64 priv_data;
  u64 priv_data_size;  // out of PROCESS_INFO
  u32 num_devices;     // out of PROCESS_INFO
  u32 num_bos;         // out of PROCESS_INFO
  u32 num_objects;     // out of PROCESS_INFO
  u32 pid;             // out of PROCESS_INFO, in of RESUME
  u32 op;              // in: CriuOp
  u32 pad;             // implicit upstream
};
static_assert(sizeof(CriuArgs) == 56);
static_assert(offsetof(CriuArgs, op) == 48);

// ---- capability bits of a topology node (kfd_topology.h and uapi kfd_sysfs.h: HSA_CAP_*) ----

// clang-format off
enum Capability : u32 {
  cap_hot_pluggable             = 0x00000001,
  cap_ats_present               = 0x00000002,
  cap_watch_points_supported    = 0x00000080,
  cap_watch_points_shift        = 8,           // [11:8] log2 of their number
  cap_doorbell_type_shift       = 12,          // [13:12] 2: 64-bit, AQL
  cap_aql_queue_double_map      = 0x00004000,
  cap_trap_debug_support        = 0x00008000,  // 1.13
  cap_launch_override           = 0x00010000,  // 1.13
  cap_launch_mode               = 0x00020000,  // 1.13
  cap_precise_memory            = 0x00040000,  // 1.13
  cap_mem_edcsupported          = 0x00100000,
  cap_ras_event_notify          = 0x00200000,
  cap_asic_revision_shift       = 22,          // [25:22]
  cap_sram_edc_supported        = 0x04000000,
  cap_svm_api_supported         = 0x08000000,
  cap_flags_coherent_host       = 0x10000000,
  cap_debug_firmware_supported  = 0x20000000,  // 1.13
  cap_precise_alu               = 0x40000000,  // 1.17
};
// clang-format on

}  // namespace gp::abi
