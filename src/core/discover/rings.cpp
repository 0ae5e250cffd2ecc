#include "discover/rings.h"

#include <fmt/format.h>

#include <cerrno>

#include "discover/mqds.h"

namespace gp::discover {

Result<std::vector<Ring>> find_rings(Os& os, const Paths& paths, pid_t pid) {
  const std::string path = fmt::format("{}/mqds", paths.debugfs);
  const auto text = os.read_file(path);
  if (!text) {
    return Error{text.error().code, path, "debugfs is for root"};
  }
  std::vector<Ring> rings;
  for (const MqdQueue& queue : parse_mqds(*text).queues) {
    const bool is_meant = queue.pid == pid && queue.type == QueueType::compute;
    if (!is_meant || queue.instances.empty() || !queue.instances.front()) {
      continue;
    }
    const MqdReading& mqd = *queue.instances.front();  // all XCCs share ring and indices
    if (mqd.aql && mqd.ring_base && mqd.ring_bytes && mqd.read_index_address &&
        mqd.write_index_address) {
      rings.push_back({queue.gpu_id.value_or(0), *mqd.ring_base, *mqd.ring_bytes,
                       *mqd.read_index_address, *mqd.write_index_address});
    }
  }
  if (rings.empty()) {
    return Error{ENODATA, fmt::format("{} has no ring of process {}", path, pid), ""};
  }
  return rings;
}

}  // namespace gp::discover
