#include "driver/ioctl_table.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "driver/handlers.h"
#include "driver/task.h"

namespace vgpu::driver {
namespace {

enum Direction : u32 { in = 1, out = 2, inout = 3 };  // as in the driver's own command value

struct Row {
  IoctlInfo info;
  Direction direction;
  bool needs_checkpoint_capability;  // KFD_IOC_FLAG_CHECKPOINT_RESTORE
  int (*handler)(Call& call, void* args);
};

template <class Args, int (*Handler)(Call&, Args&)>
int typed(Call& call, void* args) {
  return Handler(call, *static_cast<Args*>(args));
}
// The first debugger interface, gone since 5.15: its numbers still answer.
int refused(Call&, void*) { return -EPERM; }

template <class Args, int (*Handler)(Call&, Args&)>
constexpr Row row(u32 nr, const char* name, Direction direction, u32 since_minor = 0) {
  return {{nr, name, sizeof(Args), since_minor, false, protocol::file_of_ioctl(nr)},
          direction,
          false,
          &typed<Args, Handler>};
}
template <class Args, int (*Handler)(Call&, Args&)>
constexpr Row dkms_row(u32 nr, const char* name, Direction direction) {
  return {{nr, name, sizeof(Args), 0, true, protocol::IoctlFile::none},
          direction,
          false,
          &typed<Args, Handler>};
}
constexpr Row refused_row(u32 nr, const char* name, u32 size, bool dkms_only = false) {
  return {{nr, name, size, 0, dkms_only, protocol::IoctlFile::none}, in, false, &refused};
}
constexpr Row criu_row() {
  return {{abi::kfd_criu_op, "CRIU_OP", sizeof(abi::CriuArgs), 7, false, protocol::IoctlFile::none},
          inout,
          true,
          &typed<abi::CriuArgs, criu_op>};
}

using namespace abi;  // NOLINT: the table names nothing else
// clang-format off
constexpr Row kRows[] = {
  row<GetVersionArgs, get_version>                          (kfd_get_version, "GET_VERSION", out),
  row<CreateQueueArgs, create_queue>                        (kfd_create_queue, "CREATE_QUEUE", inout),
  row<DestroyQueueArgs, destroy_queue>                      (kfd_destroy_queue, "DESTROY_QUEUE", inout),
  row<SetMemoryPolicyArgs, set_memory_policy>               (kfd_set_memory_policy, "SET_MEMORY_POLICY", in),
  row<GetClockCountersArgs, get_clock_counters>             (kfd_get_clock_counters, "GET_CLOCK_COUNTERS", inout),
  row<GetProcessAperturesArgs, get_process_apertures>       (kfd_get_process_apertures, "GET_PROCESS_APERTURES", out),
  row<UpdateQueueArgs, update_queue>                        (kfd_update_queue, "UPDATE_QUEUE", in),
  row<CreateEventArgs, create_event>                        (kfd_create_event, "CREATE_EVENT", inout),
  row<EventIdArgs, destroy_event>                           (kfd_destroy_event, "DESTROY_EVENT", in),
  row<EventIdArgs, set_event>                               (kfd_set_event, "SET_EVENT", in),
  row<EventIdArgs, reset_event>                             (kfd_reset_event, "RESET_EVENT", in),
  row<WaitEventsArgs, wait_events>                          (kfd_wait_events, "WAIT_EVENTS", inout),
  refused_row                                               (kfd_dbg_register, "DBG_REGISTER", 8),
  refused_row                                               (kfd_dbg_unregister, "DBG_UNREGISTER", 8),
  refused_row                                               (kfd_dbg_address_watch, "DBG_ADDRESS_WATCH", 16),
  refused_row                                               (kfd_dbg_wave_control, "DBG_WAVE_CONTROL", 16),
  row<SetScratchBackingVaArgs, set_scratch_backing_va>      (kfd_set_scratch_backing_va, "SET_SCRATCH_BACKING_VA", inout),
  row<GetTileConfigArgs, get_tile_config>                   (kfd_get_tile_config, "GET_TILE_CONFIG", inout),
  row<SetTrapHandlerArgs, set_trap_handler>                 (kfd_set_trap_handler, "SET_TRAP_HANDLER", in),
  row<GetProcessAperturesNewArgs, get_process_apertures_new>(kfd_get_process_apertures_new, "GET_PROCESS_APERTURES_NEW", inout),
  row<AcquireVmArgs, acquire_vm>                            (kfd_acquire_vm, "ACQUIRE_VM", in),
  row<AllocMemoryArgs, alloc_memory>                        (kfd_alloc_memory_of_gpu, "ALLOC_MEMORY_OF_GPU", inout),
  row<FreeMemoryArgs, free_memory>                          (kfd_free_memory_of_gpu, "FREE_MEMORY_OF_GPU", in),
  row<MapMemoryArgs, map_memory>                            (kfd_map_memory_to_gpu, "MAP_MEMORY_TO_GPU", inout),
  row<MapMemoryArgs, unmap_memory>                          (kfd_unmap_memory_from_gpu, "UNMAP_MEMORY_FROM_GPU", inout),
  row<SetCuMaskArgs, set_cu_mask>                           (kfd_set_cu_mask, "SET_CU_MASK", in),
  row<GetQueueWaveStateArgs, get_queue_wave_state>          (kfd_get_queue_wave_state, "GET_QUEUE_WAVE_STATE", inout),
  row<GetDmabufInfoArgs, get_dmabuf_info>                   (kfd_get_dmabuf_info, "GET_DMABUF_INFO", inout),
  row<ImportDmabufArgs, import_dmabuf>                      (kfd_import_dmabuf, "IMPORT_DMABUF", inout),
  row<AllocQueueGwsArgs, alloc_queue_gws>                   (kfd_alloc_queue_gws, "ALLOC_QUEUE_GWS", inout),
  row<SmiEventsArgs, smi_events>                            (kfd_smi_events, "SMI_EVENTS", inout),
  row<SvmArgs, svm>                                         (kfd_svm, "SVM", inout),
  row<SetXnackModeArgs, set_xnack_mode>                     (kfd_set_xnack_mode, "SET_XNACK_MODE", inout),
  criu_row(),
  row<GetAvailableMemoryArgs, available_memory>             (kfd_available_memory, "AVAILABLE_MEMORY", inout, 9),
  row<ExportDmabufArgs, export_dmabuf>                      (kfd_export_dmabuf, "EXPORT_DMABUF", inout, 12),
  row<RuntimeEnableArgs, runtime_enable>                    (kfd_runtime_enable, "RUNTIME_ENABLE", inout, 13),
  row<DbgTrapArgs, dbg_trap>                                (kfd_dbg_trap, "DBG_TRAP", inout, 13),
  dkms_row<IpcImportArgs, ipc_import>                       (kfd_ipc_import_handle, "IPC_IMPORT_HANDLE", inout),
  dkms_row<IpcExportArgs, ipc_export>                       (kfd_ipc_export_handle, "IPC_EXPORT_HANDLE", inout),
  refused_row                                               (kfd_dbg_trap_deprecated, "DBG_TRAP_DEPRECATED", 32, true),
};
// clang-format on

// Of no released driver: there only if the device was started with them.
constexpr Row kEarlyRows[] = {
    row<EarlyPreemptArgs, vgpu::driver::early_preempt_queue>(abi::early_preempt_queue,
                                                             "EARLY_PREEMPT_QUEUE", inout),
    row<EarlyResumeArgs, vgpu::driver::early_resume_queue>(abi::early_resume_queue,
                                                           "EARLY_RESUME_QUEUE", inout),
};

// Of drivers with kernel/patches: there only if the device was started with them.
// clang-format off
constexpr Row kPreemptRows[] = {
  row<PreemptCapsArgs, get_preempt_caps>      (kfd_get_preempt_caps, "GET_PREEMPT_CAPS", inout),
  row<PreemptLeaseArgs, preempt_lease>        (kfd_preempt_lease, "PREEMPT_LEASE", inout),
  row<PreemptQueueArgs, preempt_queue>        (kfd_preempt_queue, "PREEMPT_QUEUE", inout),
  row<PreemptQueueArgs, resume_queue>         (kfd_resume_queue, "RESUME_QUEUE", inout),
  row<BatchQueuesArgs, batch_unmap_queues>    (kfd_batch_unmap_queues, "BATCH_UNMAP_QUEUES", inout),
  row<BatchQueuesArgs, fast_remap>            (kfd_fast_remap, "FAST_REMAP", inout),
  row<SwapQueuesArgs, swap_queues>            (kfd_swap_queues, "SWAP_QUEUES", inout),
  row<QueueStatusArgs, get_queue_status>          (kfd_get_queue_status, "GET_HQD_STATUS", inout),
  row<SlotReservationArgs, set_slot_reservation>(kfd_set_slot_reservation, "SET_HQD_RESERVATION", in),
};
// clang-format on

constexpr u32 kDkmsFirst = 0x80, kDkmsEnd = 0x87;  // AMDKFD_COMMAND_START_2, _END_2
constexpr std::size_t kLargestArgs = 4096;

// The row of a number in this version of the interface; null with *error set.
const Row* find_row(const Module& module, u32 nr, int* error) {
  const bool dkms = module.config.kfd == KfdVersion::dkms;
  const auto* found = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& candidate) {
    return candidate.info.nr == nr && candidate.info.since_minor <= module.kfd_minor() &&
           (dkms || !candidate.info.dkms_only);
  });
  if (found != std::end(kRows)) {
    return found;
  }
  const auto among = [&](std::span<const Row> rows, bool are_there) {
    const auto place =
        std::find_if(rows.begin(), rows.end(), [&](const Row& each) { return each.info.nr == nr; });
    return are_there && place != rows.end() ? &*place : nullptr;
  };
  if (const Row* early = among(kEarlyRows, module.config.early_ioctls)) {
    return early;
  }
  if (const Row* preempt = among(kPreemptRows, module.config.kernel_patches)) {
    return preempt;
  }
  // Inside the table's range an empty slot is EINVAL, beyond it the number is not an ioctl. Nr 0
  // lies before the first command.
  const u32 end = module.kfd_minor() >= 13 ? 0x27 : 0x24;
  const bool in_range = (nr > 0 && nr < end) || (dkms && nr >= kDkmsFirst && nr < kDkmsEnd);
  *error = in_range ? -EINVAL : -ENOTTY;
  return nullptr;
}

// Only the process that opened the file may use it; for CRIU_OP, whoever ptraces it may too.
int check_caller(const Row& row, const Process& process, const Caller& caller) {
  if (process.pid != caller.pid) {
    const auto task = look_up_task(process.pid);
    const bool tracing = row.needs_checkpoint_capability && task && task->tracer == caller.tid;
    if (!tracing) {
      return -EBADF;
    }
  }
  if (row.needs_checkpoint_capability && !has_capability(caller.tid, kCapCheckpointRestore) &&
      !has_capability(caller.tid, kCapSysAdmin)) {
    return -EACCES;
  }
  return 0;
}

// kfd_ioctl_svm_validate: the attributes must be inside what was passed.
bool svm_size_ok(const void* args, u32 user_size) {
  const auto* svm_args = static_cast<const SvmArgs*>(args);
  return user_size >= sizeof(SvmArgs) + u64{svm_args->nattr} * 8;
}

}  // namespace

std::span<const IoctlInfo> ioctl_infos() {
  static const auto infos = [] {
    std::vector<IoctlInfo> all;
    for (const std::span<const Row> rows :
         {std::span<const Row>(kRows), {kEarlyRows}, {kPreemptRows}}) {
      for (const Row& each : rows) {
        all.push_back(each.info);
      }
    }
    return all;
  }();
  return infos;
}

int dispatch_ioctl(Module& module, Caller& caller, FileId file, u32 command, std::span<u8> args) {
  if (_IOC_TYPE(command) != kKfdIoctlBase) {
    return -ENOTTY;
  }
  int error = 0;
  const Row* row = find_row(module, _IOC_NR(command), &error);
  if (!row) {
    log_debug("pid {}: ioctl {:#x} is not of this interface", caller.pid, _IOC_NR(command));
    return error;
  }
  const ProcessPtr process = module.find_process(file);
  if (!process) {
    return -EBADF;
  }
  if ((error = check_caller(*row, *process, caller))) {
    return error;
  }
  // The caller's size counts for copying, the driver's for what the handler may touch.
  const u32 user_size = _IOC_SIZE(command);
  if (user_size > args.size() || user_size > kLargestArgs) {
    return -EFAULT;
  }
  alignas(8) u8 data[kLargestArgs];
  std::memset(data, 0, std::max(user_size, row->info.size));
  if (row->direction & in) {
    std::memcpy(data, args.data(), user_size);
  }
  if (row->info.nr == kfd_svm && !svm_size_ok(data, user_size)) {
    return -EINVAL;
  }
  Call call{module, *process, process, caller};
  const int result = row->handler(call, data);
  if (row->direction & out) {
    std::memcpy(args.data(), data, user_size);  // also after an error
  }
  log_debug("pid {} tid {}: {} = {}", caller.pid, caller.tid, row->info.name, result);
  return result;
}

}  // namespace vgpu::driver
