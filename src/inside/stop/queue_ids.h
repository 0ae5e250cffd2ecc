// Which KFD id a queue has that the runtime has just created, found without the driver's help:
// before KFD 1.13 nothing tells it but the difference that its creation makes to
// /sys/class/kfd/kfd/proc/<pid>/queues.
//
// hsa_queue_t.id is ROCr's own counter and is of no use. A wrong id would be worse than none: a
// driver that old does not compare the ring address of UPDATE_QUEUE and would ruin another queue.
#pragma once

#include <sys/types.h>

#include "stop/queue_table.h"

namespace gp::stop {

struct QueueIds {
  u32 count = 0;
  u32 ids[kMostQueues];
};

// sysfs names processes by their pid in the first pid namespace. Ours, or 0 if we live in another
// namespace and cannot know it.
pid_t own_sysfs_pid();

int list_queue_ids(pid_t sysfs_pid, QueueIds& ids);

// The one queue that is not in `before`, has this size and is on this GPU. -ENOTUNIQ: there is no
// such queue or more than one.
int find_new_queue(pid_t sysfs_pid, const QueueIds& before, u32 gpu_id, u32 ring_bytes, u32* id);

}  // namespace gp::stop
