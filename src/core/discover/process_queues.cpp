#include "discover/process_queues.h"

#include <fmt/format.h>

#include <cerrno>

#include "discover/text.h"

namespace gp::discover {
namespace {

// enum kfd_queue_type, kfd_priv.h:428.
constexpr u64 kTypeCompute = 0, kTypeSdma = 1, kTypeSdmaXgmi = 4, kTypeSdmaByEngine = 5;

std::optional<u64> read_number(Os& os, const std::string& path) {
  const auto text = os.read_file(path);
  return text ? decimal(*text) : std::nullopt;
}

}  // namespace

QueueType queue_type_of(std::string_view type_file) {
  const auto type = decimal(type_file);
  if (type == kTypeCompute) {
    return QueueType::compute;
  }
  if (type == kTypeSdma || type == kTypeSdmaByEngine) {
    return QueueType::sdma;
  }
  return type == kTypeSdmaXgmi ? QueueType::sdma_xgmi : QueueType::unknown;
}

Result<std::vector<pid_t>> list_processes(Os& os, const std::string& sysfs) {
  const std::vector<std::string> names = TRY(os.list_directory(fmt::format("{}/proc", sysfs)));
  std::vector<pid_t> pids;
  for (const std::string& name : names) {
    if (const auto pid = narrow<pid_t>(decimal(name))) {
      pids.push_back(*pid);
    }
  }
  return pids;
}

Result<std::vector<u32>> list_queue_ids(Os& os, const std::string& sysfs, pid_t pid) {
  const auto names = TRY(os.list_directory(fmt::format("{}/proc/{}/queues", sysfs, pid)));
  std::vector<u32> ids;
  for (const std::string& name : names) {
    if (const auto id = narrow<u32>(decimal(name))) {
      ids.push_back(*id);
    }
  }
  return ids;
}

std::string queue_directory(const std::string& sysfs, pid_t pid, u32 queue_id) {
  return fmt::format("{}/proc/{}/queues/{}", sysfs, pid, queue_id);
}

std::optional<SysfsQueue> read_queue(Os& os, const std::string& sysfs, pid_t pid, u32 queue_id) {
  std::string path = queue_directory(sysfs, pid, queue_id);
  const std::size_t length = path.size();
  path += "/gpuid";
  const auto gpu_text = os.read_file(path);
  if (!gpu_text && (gpu_text.error().code == ENOENT || gpu_text.error().code == ENODEV)) {
    return std::nullopt;  // destroyed meanwhile
  }
  SysfsQueue queue;
  queue.queue_id = queue_id;
  queue.gpu_id = gpu_text ? narrow<u32>(decimal(*gpu_text)) : std::nullopt;
  path.replace(length, std::string::npos, "/size");
  queue.ring_bytes = read_number(os, path);
  path.replace(length, std::string::npos, "/type");
  if (const auto type = os.read_file(path)) {
    queue.type = queue_type_of(*type);
  }
  return queue;
}

GpuUse read_gpu_use(Os& os, const std::string& sysfs, pid_t pid, u32 gpu_id, bool occupancy) {
  const std::string base = fmt::format("{}/proc/{}", sysfs, pid);
  GpuUse use;
  use.gpu_id = gpu_id;
  use.vram_bytes = read_number(os, fmt::format("{}/vram_{}", base, gpu_id));
  use.evicted_ms = read_number(os, fmt::format("{}/stats_{}/evicted_ms", base, gpu_id));
  if (occupancy) {
    use.cu_occupancy =
        narrow<u32>(read_number(os, fmt::format("{}/stats_{}/cu_occupancy", base, gpu_id)));
  }
  return use;
}

}  // namespace gp::discover
