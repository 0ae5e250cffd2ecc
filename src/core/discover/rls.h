// debugfs rls: the run list of each node, that is, exactly the queues the driver wants to run.
//
// The driver prints (kfd_topology.c:2392, kfd_packet_manager.c:463)
//
//   Node 2, gpu_id f7bc:
//     No active runlist             always so on GPUs whose scheduler is MES (gfx11 and later)
//     00000000: c0131100 ...        or the PM4 packets: MAP_PROCESS, its MAP_QUEUES, ...
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "libc/types.h"

namespace gp::discover {

struct MappedQueue {
  u64 mqd_address = 0;
  u32 doorbell = 0;  // as in the MQD
};

struct RunList {
  u32 node_id = 0;
  u32 gpu_id = 0;
  bool none = false;  // "No active runlist"
  std::vector<MappedQueue> queues;
  bool is_whole = false;  // nothing of it was missing or unknown
};

struct Rls {
  std::vector<RunList> nodes;
  u32 damaged_lines = 0;
};

Rls parse_rls(std::string_view text);

}  // namespace gp::discover
