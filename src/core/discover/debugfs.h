// Joins the three files of debugfs on the MQD's address: mqds dword 128/129, hqds register 0/1 and
// rls MAP_QUEUES dword 3/4 are the same number. SDMA has no such register; its doorbell, of which a
// node gives each to one queue only, takes that place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "discover/hqds.h"
#include "discover/mqds.h"
#include "discover/rls.h"
#include "discover/topology.h"
#include "os/os.h"

namespace gp::discover {

// A file that could not be read is empty. An empty mqds is a machine without queues.
struct Debugfs {
  std::optional<Mqds> mqds;
  std::optional<Hqds> hqds;
  std::optional<Rls> rls;
  std::vector<std::string> warnings;
};
Debugfs read_debugfs(Os& os, const std::string& directory);

// A queue as debugfs shows it.
struct QueueReading {
  pid_t pid = 0;  // of the first pid namespace
  Queue queue;
};

// All queues, in the order of mqds: of each process the newest first. Completes the nodes of the
// topology with what debugfs knows of them, and adds those that are in debugfs alone.
std::vector<QueueReading> join_debugfs(const Debugfs& debugfs, Topology& topology);

}  // namespace gp::discover
