// sysfs proc: the processes that have /dev/kfd open, and their queues, by KFD's own ids.
//
// Directory names are pids of the first pid namespace (kfd_process.c:883). Files below queues/ end
// without a newline and gpuid is decimal (kfd_process.c:412); type is the driver's own numbering,
// in which AQL is compute.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "discover/discover.h"
#include "os/os.h"

namespace gp::discover {

struct SysfsQueue {
  u32 queue_id = 0;
  std::optional<u32> gpu_id;
  std::optional<u64> ring_bytes;
  QueueType type = QueueType::unknown;
};

QueueType queue_type_of(std::string_view type_file);

// All pids there; ENOENT if there is no KFD.
Result<std::vector<pid_t>> list_processes(Os& os, const std::string& sysfs);
// ENOENT if the process has gone. A queue that goes while it is read is left out.
Result<std::vector<u32>> list_queue_ids(Os& os, const std::string& sysfs, pid_t pid);
std::optional<SysfsQueue> read_queue(Os& os, const std::string& sysfs, pid_t pid, u32 queue_id);
std::string queue_directory(const std::string& sysfs, pid_t pid, u32 queue_id);

// Use of one GPU. Occupancy reads its registers: only on request.
GpuUse read_gpu_use(Os& os, const std::string& sysfs, pid_t pid, u32 gpu_id, bool occupancy);

}  // namespace gp::discover
