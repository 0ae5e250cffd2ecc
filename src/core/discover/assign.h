// Says which queue id a reading of debugfs belongs to. mqds names none; the debugger's snapshot
// would tell by the ring's address, but it is not always there. What is certain without it:
//
// - a queue that is the only one of its process, GPU, kind and ring size in both sources;
// - among several alike, the order of creation: mqds has the newest first (list_add in
//   pqm_create_queue, kfd_process_queue_manager.c), and inode numbers of a real sysfs grow with
//   creation (idr_alloc_cyclic in __kernfs_new_node, fs/kernfs/dir.c). Queue ids do not tell: they
//   are used again;
// - what all of several alike have in common, whichever is which.
//
// Everything else stays unknown.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "discover/snapshot.h"

namespace gp::discover {

// When a queue of this id was created compared with others: grows. Empty if it cannot be told.
using CreationOrder = std::function<std::optional<u64>(u32 queue_id)>;

// `readings` are those of this process in the order of mqds. Returns false if the two sources do
// not list the same queues: they have changed while they were read.
bool assign_readings(Process& process, std::vector<Queue> readings, const CreationOrder& created);

}  // namespace gp::discover
