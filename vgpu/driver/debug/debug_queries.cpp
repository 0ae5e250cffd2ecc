// What a debugger can ask about its target (kfd_debug.c, pqm_get_queue_snapshot).
#include <algorithm>
#include <cerrno>

#include "driver/debug/debug.h"

namespace vgpu::driver {

int debug_query_event(Process& target, abi::DbgQueryDebugEventArgs& args) {
  const std::lock_guard lock(target.event_mutex);
  const u64 clear = args.exception_mask;
  const auto report = [&](u64& status, u32 gpu_id, u32 queue_id) {
    if (!(status & target.exception_enable_mask)) {
      return false;
    }
    args.exception_mask = status;
    args.gpu_id = gpu_id;
    args.queue_id = queue_id;
    status &= ~clear;
    return true;
  };
  args = {};
  for (const QueuePtr& queue : target.queues) {
    if (report(queue->exception_status, queue->device->node.gpu_id, queue->id)) {
      return 0;
    }
  }
  for (const auto& device : target.devices) {
    if (report(device->exception_status, device->node.gpu_id, 0)) {
      return 0;
    }
  }
  return report(target.exception_status, 0, 0) ? 0 : -EAGAIN;
}

int debug_query_exception_info(Call& call, Process& target, abi::DbgQueryExceptionInfoArgs& args) {
  const u32 code = args.exception_code;
  if (args.info_ptr == 0 || code == abi::ec_none || code > 64) {
    return -EINVAL;
  }
  const u64 mask = abi::ec_mask(code);
  const std::lock_guard lock(target.event_mutex);
  u64* status = nullptr;
  ProcessDevice* device = nullptr;
  if (mask & abi::kEcMaskQueue) {
    const QueuePtr queue = target.find_queue(args.source_id);
    status = queue ? &queue->exception_status : nullptr;
  } else if (mask & abi::kEcMaskDevice) {
    device = target.find_device(args.source_id);
    status = device ? &device->exception_status : nullptr;
  } else if (mask & abi::kEcMaskProcess) {
    status = &target.exception_status;
  }
  if (!status) {
    return -EINVAL;
  }
  if (!(*status & mask)) {
    return -ENODATA;
  }
  u32 actual = 0;
  const auto copy = [&](const void* data, u32 size) {
    actual = size;
    return call.caller.memory->write(args.info_ptr, data, std::min(args.info_size, size));
  };
  if (code == abi::ec_device_memory_violation && device->fault_data) {
    if (!copy(&*device->fault_data, sizeof(*device->fault_data))) {
      return -EFAULT;
    }
    if (args.clear_exception) {
      device->fault_data.reset();
    }
  } else if (code == abi::ec_process_runtime && !copy(&target.runtime, sizeof(target.runtime))) {
    return -EFAULT;
  }
  args.info_size = actual;
  *status &= args.clear_exception ? ~mask : ~u64{0};
  return 0;
}

int debug_queue_snapshot(Call& call, Process& target, abi::DbgSnapshotArgs& args) {
  const u32 stride = args.entry_size, room = args.count;
  args.count = 0;
  if (stride == 0) {
    return -EINVAL;
  }
  args.entry_size = std::min<u32>(stride, sizeof(abi::QueueSnapshotEntry));
  const std::lock_guard lock(target.event_mutex);
  u64 to = args.snapshot_buf_ptr;
  for (const QueuePtr& queue : target.queues) {
    if (args.count < room) {
      const abi::QueueSnapshotEntry entry = {
          .exception_status = queue->exception_status,
          .ring_base_address = queue->ring_base,
          .write_pointer_address = queue->write_ptr,
          .read_pointer_address = queue->read_ptr,
          .ctx_save_restore_address = queue->ctx_save_address,
          .queue_id = queue->id,
          .gpu_id = queue->device->node.gpu_id,
          .ring_size = queue->ring_size,
          .queue_type = queue->ioc_type,
          .ctx_save_restore_area_size = queue->ctx_save_size,
          .reserved = 0,
      };
      queue->exception_status &= ~args.exception_mask;
      if (!call.caller.memory->write(to, &entry, args.entry_size)) {
        return -EFAULT;
      }
      to += stride;
    }
    ++args.count;
  }
  return 0;
}

int debug_device_snapshot(Call& call, Process& target, abi::DbgSnapshotArgs& args) {
  if (args.snapshot_buf_ptr == 0) {
    return -EINVAL;
  }
  const u32 stride = args.entry_size;
  const u32 room = std::min<u32>(args.count, static_cast<u32>(target.devices.size()));
  args.count = static_cast<u32>(target.devices.size());
  args.entry_size = std::min<u32>(stride, sizeof(abi::DeviceSnapshotEntry));
  const std::lock_guard lock(target.event_mutex);
  u64 to = args.snapshot_buf_ptr;
  for (u32 i = 0; i < room; ++i, to += stride) {
    ProcessDevice& device = *target.devices[i];
    const Node& node = device.node;
    const Profile& profile = *node.profile;
    const abi::DeviceSnapshotEntry entry = {
        .exception_status = device.exception_status,
        .lds_base = device.apertures.lds_base,
        .lds_limit = device.apertures.lds_limit,
        .scratch_base = device.apertures.scratch_base,
        .scratch_limit = device.apertures.scratch_limit,
        .gpuvm_base = device.apertures.gpuvm_base,
        .gpuvm_limit = device.apertures.gpuvm_limit,
        .gpu_id = node.gpu_id,
        .location_id = node.location_id(),
        .vendor_id = 0x1002,
        .device_id = profile.device_id,
        .revision_id = profile.revision_id,
        .subsystem_vendor_id = 0x1002,
        .subsystem_device_id = profile.subsystem_device_id,
        .fw_version = profile.mec_firmware,
        .gfx_target_version = profile.gfx_target_version,
        .simd_count = node.config.cus * node.config.simds_per_cu,
        .max_waves_per_simd = node.config.waves_per_simd,
        .array_count = profile.shader_engines,
        .simd_arrays_per_engine = 1,
        .num_xcc = 1,
        .capability = node.capability,
        .debug_prop = node.debug_prop,
    };
    device.exception_status &= ~args.exception_mask;
    if (!call.caller.memory->write(to, &entry, args.entry_size)) {
      return -EFAULT;
    }
  }
  return 0;
}

}  // namespace vgpu::driver
