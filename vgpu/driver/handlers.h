// The ioctl handlers, one per row of the table in ioctl_table.cpp. Each returns what the ioctl
// returns: >= 0 or a negative errno. They take the locks they need.
#pragma once

#include "driver/abi.h"
#include "driver/module.h"

namespace vgpu::driver {

// misc_ioctls.cpp
int get_version(Call& call, abi::GetVersionArgs& args);
int set_memory_policy(Call& call, abi::SetMemoryPolicyArgs& args);
int get_clock_counters(Call& call, abi::GetClockCountersArgs& args);
int get_process_apertures(Call& call, abi::GetProcessAperturesArgs& args);
int get_process_apertures_new(Call& call, abi::GetProcessAperturesNewArgs& args);
int set_scratch_backing_va(Call& call, abi::SetScratchBackingVaArgs& args);
int get_tile_config(Call& call, abi::GetTileConfigArgs& args);
int set_trap_handler(Call& call, abi::SetTrapHandlerArgs& args);
int set_xnack_mode(Call& call, abi::SetXnackModeArgs& args);
int smi_events(Call& call, abi::SmiEventsArgs& args);
int svm(Call& call, abi::SvmArgs& args);

// memory/memory.cpp
int acquire_vm(Call& call, abi::AcquireVmArgs& args);
int alloc_memory(Call& call, abi::AllocMemoryArgs& args);
int free_memory(Call& call, abi::FreeMemoryArgs& args);
int map_memory(Call& call, abi::MapMemoryArgs& args);
int unmap_memory(Call& call, abi::MapMemoryArgs& args);
int available_memory(Call& call, abi::GetAvailableMemoryArgs& args);

// memory/sharing.cpp
int get_dmabuf_info(Call& call, abi::GetDmabufInfoArgs& args);
int import_dmabuf(Call& call, abi::ImportDmabufArgs& args);
int export_dmabuf(Call& call, abi::ExportDmabufArgs& args);
int ipc_import(Call& call, abi::IpcImportArgs& args);
int ipc_export(Call& call, abi::IpcExportArgs& args);

// queues/queues.cpp
int create_queue(Call& call, abi::CreateQueueArgs& args);
int destroy_queue(Call& call, abi::DestroyQueueArgs& args);
int update_queue(Call& call, abi::UpdateQueueArgs& args);
int set_cu_mask(Call& call, abi::SetCuMaskArgs& args);
int get_queue_wave_state(Call& call, abi::GetQueueWaveStateArgs& args);
int alloc_queue_gws(Call& call, abi::AllocQueueGwsArgs& args);

// event_ioctls.cpp
int create_event(Call& call, abi::CreateEventArgs& args);
int destroy_event(Call& call, abi::EventIdArgs& args);
int set_event(Call& call, abi::EventIdArgs& args);
int reset_event(Call& call, abi::EventIdArgs& args);
int wait_events(Call& call, abi::WaitEventsArgs& args);

// criu.cpp
int criu_op(Call& call, abi::CriuArgs& args);

// debug/debug_ioctls.cpp
int runtime_enable(Call& call, abi::RuntimeEnableArgs& args);
int dbg_trap(Call& call, abi::DbgTrapArgs& args);

// preempt/preempt_ioctls.cpp
int get_preempt_caps(Call& call, abi::PreemptCapsArgs& args);
int preempt_lease(Call& call, abi::PreemptLeaseArgs& args);
int preempt_queue(Call& call, abi::PreemptQueueArgs& args);
int resume_queue(Call& call, abi::PreemptQueueArgs& args);
int batch_unmap_queues(Call& call, abi::BatchQueuesArgs& args);
int fast_remap(Call& call, abi::BatchQueuesArgs& args);
int swap_queues(Call& call, abi::SwapQueuesArgs& args);
int get_queue_status(Call& call, abi::QueueStatusArgs& args);
int set_slot_reservation(Call& call, abi::SlotReservationArgs& args);

// preempt/early_ioctls.cpp
int early_preempt_queue(Call& call, abi::EarlyPreemptArgs& args);
int early_resume_queue(Call& call, abi::EarlyResumeArgs& args);

}  // namespace vgpu::driver
