// src/inside/abi/kfd.h against the kernel's own header, whichever version is installed. What an
// older header lacks is skipped; a struct that has grown since begins as the older one.
#include <gtest/gtest.h>
#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>

#include "abi/kfd.h"

namespace gp::abi {
namespace {

#define EXPECT_NUMBER(ours, theirs) EXPECT_EQ(u32{ours}, _IOC_NR(theirs)) << #theirs
#define EXPECT_SIZE(ours, theirs) EXPECT_EQ(sizeof(ours), sizeof(theirs)) << #theirs
#define EXPECT_FIELD(ours, theirs, field)                                          \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, field)) << #theirs "." #field; \
  EXPECT_EQ(sizeof(ours::field), sizeof(theirs::field)) << #theirs "." #field

TEST(AbiParity, NumbersOfOldIoctls) {
  EXPECT_EQ(kKfdIoctlBase, static_cast<u32>(AMDKFD_IOCTL_BASE));
  EXPECT_EQ(kKfdMajor, static_cast<u32>(KFD_IOCTL_MAJOR_VERSION));
  EXPECT_NUMBER(kfd_get_version, AMDKFD_IOC_GET_VERSION);
  EXPECT_NUMBER(kfd_create_queue, AMDKFD_IOC_CREATE_QUEUE);
  EXPECT_NUMBER(kfd_destroy_queue, AMDKFD_IOC_DESTROY_QUEUE);
  EXPECT_NUMBER(kfd_set_memory_policy, AMDKFD_IOC_SET_MEMORY_POLICY);
  EXPECT_NUMBER(kfd_get_clock_counters, AMDKFD_IOC_GET_CLOCK_COUNTERS);
  EXPECT_NUMBER(kfd_get_process_apertures, AMDKFD_IOC_GET_PROCESS_APERTURES);
  EXPECT_NUMBER(kfd_update_queue, AMDKFD_IOC_UPDATE_QUEUE);
  EXPECT_NUMBER(kfd_create_event, AMDKFD_IOC_CREATE_EVENT);
  EXPECT_NUMBER(kfd_destroy_event, AMDKFD_IOC_DESTROY_EVENT);
  EXPECT_NUMBER(kfd_set_event, AMDKFD_IOC_SET_EVENT);
  EXPECT_NUMBER(kfd_reset_event, AMDKFD_IOC_RESET_EVENT);
  EXPECT_NUMBER(kfd_wait_events, AMDKFD_IOC_WAIT_EVENTS);
  EXPECT_NUMBER(kfd_set_scratch_backing_va, AMDKFD_IOC_SET_SCRATCH_BACKING_VA);
  EXPECT_NUMBER(kfd_get_tile_config, AMDKFD_IOC_GET_TILE_CONFIG);
  EXPECT_NUMBER(kfd_set_trap_handler, AMDKFD_IOC_SET_TRAP_HANDLER);
  EXPECT_NUMBER(kfd_get_process_apertures_new, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW);
  EXPECT_NUMBER(kfd_acquire_vm, AMDKFD_IOC_ACQUIRE_VM);
  EXPECT_NUMBER(kfd_alloc_memory_of_gpu, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU);
  EXPECT_NUMBER(kfd_free_memory_of_gpu, AMDKFD_IOC_FREE_MEMORY_OF_GPU);
  EXPECT_NUMBER(kfd_map_memory_to_gpu, AMDKFD_IOC_MAP_MEMORY_TO_GPU);
  EXPECT_NUMBER(kfd_unmap_memory_from_gpu, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU);
  EXPECT_NUMBER(kfd_set_cu_mask, AMDKFD_IOC_SET_CU_MASK);
  EXPECT_NUMBER(kfd_get_queue_wave_state, AMDKFD_IOC_GET_QUEUE_WAVE_STATE);
  EXPECT_NUMBER(kfd_get_dmabuf_info, AMDKFD_IOC_GET_DMABUF_INFO);
  EXPECT_NUMBER(kfd_import_dmabuf, AMDKFD_IOC_IMPORT_DMABUF);
  EXPECT_NUMBER(kfd_alloc_queue_gws, AMDKFD_IOC_ALLOC_QUEUE_GWS);
  EXPECT_NUMBER(kfd_smi_events, AMDKFD_IOC_SMI_EVENTS);
  EXPECT_NUMBER(kfd_svm, AMDKFD_IOC_SVM);
  EXPECT_NUMBER(kfd_set_xnack_mode, AMDKFD_IOC_SET_XNACK_MODE);
  EXPECT_NUMBER(kfd_criu_op, AMDKFD_IOC_CRIU_OP);
  EXPECT_NUMBER(kfd_available_memory, AMDKFD_IOC_AVAILABLE_MEMORY);
}

TEST(AbiParity, StructsOfQueues) {
  EXPECT_SIZE(GetVersionArgs, kfd_ioctl_get_version_args);
  EXPECT_FIELD(GetVersionArgs, kfd_ioctl_get_version_args, minor_version);
  EXPECT_FIELD(CreateQueueArgs, kfd_ioctl_create_queue_args, ring_base_address);
  EXPECT_FIELD(CreateQueueArgs, kfd_ioctl_create_queue_args, doorbell_offset);
  EXPECT_FIELD(CreateQueueArgs, kfd_ioctl_create_queue_args, queue_type);
  EXPECT_FIELD(CreateQueueArgs, kfd_ioctl_create_queue_args, queue_priority);
  EXPECT_FIELD(CreateQueueArgs, kfd_ioctl_create_queue_args, queue_id);
  EXPECT_FIELD(CreateQueueArgs, kfd_ioctl_create_queue_args, ctx_save_restore_address);
  EXPECT_FIELD(CreateQueueArgs, kfd_ioctl_create_queue_args, ctl_stack_size);
  EXPECT_SIZE(DestroyQueueArgs, kfd_ioctl_destroy_queue_args);
  EXPECT_SIZE(UpdateQueueArgs, kfd_ioctl_update_queue_args);
  EXPECT_FIELD(UpdateQueueArgs, kfd_ioctl_update_queue_args, ring_base_address);
  EXPECT_FIELD(UpdateQueueArgs, kfd_ioctl_update_queue_args, queue_id);
  EXPECT_FIELD(UpdateQueueArgs, kfd_ioctl_update_queue_args, ring_size);
  EXPECT_FIELD(UpdateQueueArgs, kfd_ioctl_update_queue_args, queue_percentage);
  EXPECT_FIELD(UpdateQueueArgs, kfd_ioctl_update_queue_args, queue_priority);
  EXPECT_SIZE(SetCuMaskArgs, kfd_ioctl_set_cu_mask_args);
  EXPECT_SIZE(GetQueueWaveStateArgs, kfd_ioctl_get_queue_wave_state_args);
  EXPECT_FIELD(GetQueueWaveStateArgs, kfd_ioctl_get_queue_wave_state_args, queue_id);
  EXPECT_SIZE(AllocQueueGwsArgs, kfd_ioctl_alloc_queue_gws_args);
  EXPECT_EQ(kMaxQueuePriority, static_cast<u32>(KFD_MAX_QUEUE_PRIORITY));
  EXPECT_EQ(kMaxQueuePercentage, static_cast<u32>(KFD_MAX_QUEUE_PERCENTAGE));
  EXPECT_EQ(u32{queue_type_compute_aql}, static_cast<u32>(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL));
  EXPECT_EQ(u32{queue_type_sdma_xgmi}, static_cast<u32>(KFD_IOC_QUEUE_TYPE_SDMA_XGMI));
}

TEST(AbiParity, StructsOfTheDeviceAndItsMemory) {
  EXPECT_SIZE(SetMemoryPolicyArgs, kfd_ioctl_set_memory_policy_args);
  EXPECT_SIZE(GetClockCountersArgs, kfd_ioctl_get_clock_counters_args);
  EXPECT_SIZE(DeviceApertures, kfd_process_device_apertures);
  EXPECT_SIZE(GetProcessAperturesArgs, kfd_ioctl_get_process_apertures_args);
  EXPECT_SIZE(GetProcessAperturesNewArgs, kfd_ioctl_get_process_apertures_new_args);
  EXPECT_SIZE(SetScratchBackingVaArgs, kfd_ioctl_set_scratch_backing_va_args);
  EXPECT_SIZE(GetTileConfigArgs, kfd_ioctl_get_tile_config_args);
  EXPECT_SIZE(SetTrapHandlerArgs, kfd_ioctl_set_trap_handler_args);
  EXPECT_SIZE(SetXnackModeArgs, kfd_ioctl_set_xnack_mode_args);
  EXPECT_SIZE(CreateEventArgs, kfd_ioctl_create_event_args);
  EXPECT_SIZE(EventIdArgs, kfd_ioctl_destroy_event_args);
  EXPECT_SIZE(MemoryExceptionData, kfd_hsa_memory_exception_data);
  EXPECT_SIZE(EventData, kfd_event_data);
  EXPECT_SIZE(WaitEventsArgs, kfd_ioctl_wait_events_args);
  EXPECT_SIZE(AcquireVmArgs, kfd_ioctl_acquire_vm_args);
  EXPECT_SIZE(AllocMemoryArgs, kfd_ioctl_alloc_memory_of_gpu_args);
  EXPECT_FIELD(AllocMemoryArgs, kfd_ioctl_alloc_memory_of_gpu_args, va_addr);
  EXPECT_FIELD(AllocMemoryArgs, kfd_ioctl_alloc_memory_of_gpu_args, flags);
  EXPECT_SIZE(FreeMemoryArgs, kfd_ioctl_free_memory_of_gpu_args);
  EXPECT_SIZE(MapMemoryArgs, kfd_ioctl_map_memory_to_gpu_args);
  EXPECT_SIZE(GetAvailableMemoryArgs, kfd_ioctl_get_available_memory_args);
  EXPECT_SIZE(GetDmabufInfoArgs, kfd_ioctl_get_dmabuf_info_args);
  EXPECT_SIZE(ImportDmabufArgs, kfd_ioctl_import_dmabuf_args);
  EXPECT_SIZE(SmiEventsArgs, kfd_ioctl_smi_events_args);
  EXPECT_SIZE(CriuArgs, kfd_ioctl_criu_args);
  EXPECT_FIELD(CriuArgs, kfd_ioctl_criu_args, num_objects);
  EXPECT_FIELD(CriuArgs, kfd_ioctl_criu_args, pid);
  EXPECT_FIELD(CriuArgs, kfd_ioctl_criu_args, op);
}

#if KFD_IOCTL_MINOR_VERSION >= 13
TEST(AbiParity, TheDebuggersInterface) {
  EXPECT_NUMBER(kfd_runtime_enable, AMDKFD_IOC_RUNTIME_ENABLE);
  EXPECT_NUMBER(kfd_dbg_trap, AMDKFD_IOC_DBG_TRAP);
  EXPECT_SIZE(RuntimeInfo, kfd_runtime_info);
  EXPECT_FIELD(RuntimeInfo, kfd_runtime_info, runtime_state);
  EXPECT_SIZE(RuntimeEnableArgs, kfd_ioctl_runtime_enable_args);
  EXPECT_SIZE(DbgTrapArgs, kfd_ioctl_dbg_trap_args);
  EXPECT_FIELD(DbgTrapArgs, kfd_ioctl_dbg_trap_args, suspend_queues);
  EXPECT_FIELD(DbgTrapArgs, kfd_ioctl_dbg_trap_args, resume_queues);
  EXPECT_FIELD(DbgSuspendQueuesArgs, kfd_ioctl_dbg_trap_suspend_queues_args, queue_array_ptr);
  EXPECT_FIELD(DbgSuspendQueuesArgs, kfd_ioctl_dbg_trap_suspend_queues_args, grace_period);
  EXPECT_FIELD(DbgEnableArgs, kfd_ioctl_dbg_trap_enable_args, rinfo_ptr);
  EXPECT_FIELD(DbgEnableArgs, kfd_ioctl_dbg_trap_enable_args, dbg_fd);
  EXPECT_SIZE(QueueSnapshotEntry, kfd_queue_snapshot_entry);
  EXPECT_FIELD(QueueSnapshotEntry, kfd_queue_snapshot_entry, ring_base_address);
  EXPECT_FIELD(QueueSnapshotEntry, kfd_queue_snapshot_entry, queue_id);
  EXPECT_FIELD(QueueSnapshotEntry, kfd_queue_snapshot_entry, queue_type);
  EXPECT_EQ(u32{dbg_suspend_queues}, static_cast<u32>(KFD_IOC_DBG_TRAP_SUSPEND_QUEUES));
  EXPECT_EQ(u32{dbg_get_device_snapshot}, static_cast<u32>(KFD_IOC_DBG_TRAP_GET_DEVICE_SNAPSHOT));
}
#else
TEST(AbiParity, TheDebuggersInterface) {
  GTEST_SKIP() << "<linux/kfd_ioctl.h> is version 1." << KFD_IOCTL_MINOR_VERSION
               << "; the debugger came with 1.13";
}
#endif

TEST(AbiParity, WhatTheNewestVersionAdded) {
#if KFD_IOCTL_MINOR_VERSION >= 17
  EXPECT_SIZE(CreateQueueArgs, kfd_ioctl_create_queue_args);
  EXPECT_FIELD(CreateQueueArgs, kfd_ioctl_create_queue_args, sdma_engine_id);
#else
  EXPECT_LE(sizeof(kfd_ioctl_create_queue_args), sizeof(CreateQueueArgs));
#endif
}

}  // namespace
}  // namespace gp::abi
