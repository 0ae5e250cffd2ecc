// Where a process has the rings of its compute queues, and the indices that say what is in them.
//
// The driver knows the addresses, in the process's memory, and tells them in debugfs alone: each
// MQD has the read_ptr and write_ptr that the queue was created with (update_mqd of
// kfd_mqd_manager_v9.c, v10, v11 and v12). For AQL queues ROCr names read_dispatch_id and
// write_dispatch_id of its amd_queue_t (amd_aql_queue.cpp). The debugger's snapshot of queues has
// them too, but whoever debugs a process takes all queues off the GPUs it uses, twice, and keeps
// rocgdb away from it.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"
#include "discover/discover.h"
#include "os/os.h"

namespace gp::discover {

struct Ring {
  u32 gpu_id = 0;  // 0 if unknown
  u64 base = 0;
  u64 bytes = 0;
  u64 read_index_address = 0;  // a u64 that counts packets, as does the other
  u64 write_index_address = 0;
};

// The rings of AQL packets of a process, which is named as debugfs does: by its pid in the first
// pid namespace. ENODATA if it has none; EACCES where debugfs is not for us. Costly: takes every
// process's mutex in the driver. Not to be called again and again.
Result<std::vector<Ring>> find_rings(Os& os, const Paths& paths, pid_t pid);

}  // namespace gp::discover
