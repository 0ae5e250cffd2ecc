// The files of /sys/class/kfd/kfd/proc/<pid> (kfd_process.c:270-420, 883-902).
#include <fmt/format.h>

#include <cerrno>
#include <charconv>

#include "device/clock.h"
#include "driver/files/virtual_files.h"

namespace vgpu::driver {
namespace {

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The number that follows `prefix`, if `text` is just that.
bool parse(const std::string& text, const std::string& prefix, u32* number) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data() + prefix.size(), end, *number);
  return result.ec == std::errc() && result.ptr == end;
}

// Internal numbers, not those of the ioctl: compute (AQL too), SDMA, SDMA over XGMI.
u32 internal_type(const Queue& queue) {
  if (queue.is_compute()) {
    return 0;
  }
  return queue.ioc_type == abi::queue_type_sdma_xgmi ? 4 : 1;
}

// These files have no newline at their end (kfd_process.c:412-418).
Result<std::string> queue_file(Process& process, u32 queue_id, const std::string& name) {
  const QueuePtr queue = process.find_queue(queue_id);
  if (queue && name == "gpuid") {
    return fmt::format("{}", queue->device->node.gpu_id);
  }
  if (queue && name == "size") {
    return fmt::format("{}", queue->ring_size);
  }
  if (queue && name == "type") {
    return fmt::format("{}", internal_type(*queue));
  }
  return Error{ENOENT, "no such queue file", ""};
}

// SDMA activity is reported in microseconds; the virtual engines count the bytes they copied at
// 1 GB/s.
u64 sdma_microseconds(Process& process, const ProcessDevice& device) {
  u64 bytes = device.sdma_past_bytes;
  for (const QueuePtr& queue : process.queues) {
    u64 rptr = 0;
    if (queue->device == &device && queue->is_sdma() &&
        device.vmid->memory.read(queue->read_ptr, &rptr, sizeof(rptr))) {
      bytes += rptr;
    }
  }
  return bytes / 1000;
}

u32 cu_occupancy(Process& process, const ProcessDevice& device) {
  const device::GpuConfig& config = device.node.config;
  const u32 waves_per_cu = config.simds_per_cu * config.waves_per_simd;
  const u32 waves = device.node.gpu->waves_resident(process.pasid);
  return (waves + waves_per_cu - 1) / waves_per_cu;
}

}  // namespace

Result<std::string> read_process_file(Module& module, const std::string& path) {
  const Error missing{ENOENT, fmt::format("proc/{}", path), ""};
  const std::vector<std::string> parts = split(path);
  u32 pid = 0, number = 0;
  if (parts.size() < 2 || !parse(parts[0], "", &pid)) {
    return missing;
  }
  const ProcessPtr process = module.find_process(static_cast<pid_t>(pid));
  if (!process) {
    return missing;
  }
  const std::lock_guard lock(process->mutex);
  if (parts.size() == 2 && parts[1] == "pasid") {
    return fmt::format("{}\n", process->pasid);
  }
  if (parts.size() == 4 && parts[1] == "queues" && parse(parts[2], "", &number)) {
    return queue_file(*process, number, parts[3]);
  }
  for (const auto& device : process->devices) {
    const u32 gpu_id = device->node.gpu_id;
    if (parts.size() == 2 && parts[1] == fmt::format("vram_{}", gpu_id)) {
      return fmt::format("{}\n", device->vram_usage.load());
    }
    if (parts.size() == 2 && parts[1] == fmt::format("sdma_{}", gpu_id)) {
      return fmt::format("{}\n", sdma_microseconds(*process, *device));
    }
    if (parts.size() == 3 && parts[1] == fmt::format("stats_{}", gpu_id)) {
      if (parts[2] == "evicted_ms") {
        return fmt::format("{}\n", device->evicted_ms.load());
      }
      if (parts[2] == "preempted_ms" && module.config.kernel_patches) {
        const u64 since = device->first_held_ns;
        const u64 lasting = since ? (device::now_ns() - since) / 1'000'000 : 0;
        return fmt::format("{}\n", device->preempted_ms + lasting);
      }
      if (parts[2] == "cu_occupancy") {
        return fmt::format("{}\n", cu_occupancy(*process, *device));
      }
    }
  }
  return missing;
}

}  // namespace vgpu::driver
