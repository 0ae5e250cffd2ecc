// The words for what a snapshot says, as people read and write them.
#include <fmt/format.h>

#include "discover/snapshot.h"

namespace gp::discover {

const char* name(QueueType type) {
  switch (type) {
    case QueueType::compute: return "compute";
    case QueueType::sdma: return "sdma";
    case QueueType::sdma_xgmi: return "sdma_xgmi";
    case QueueType::unknown: break;
  }
  return "unknown";
}

// 90402 is major 9, minor 4, stepping 2; the last two are hex digits of the name: 90010 is gfx90a.
std::string gfx_name(const Node& node) {
  if (!node.gfx_target_version || *node.gfx_target_version == 0) {
    return {};
  }
  const u32 version = *node.gfx_target_version;
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace gp::discover
