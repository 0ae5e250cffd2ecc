// Finding in a snapshot: which queues and processes a filter means.
#include <algorithm>

#include "discover/discover.h"

namespace gp::discover {
namespace {

bool matches(const Process& process, const Filter& filter) {
  return (!filter.pid || (process.pid_is_ours && filter.pid == process.key.pid)) &&
         (!filter.work_class || filter.work_class == process.work_class) &&
         (filter.tag.empty() || filter.tag == process.tag);
}

// A queue whose priority or ring is unknown is in no range.
bool matches(const Queue& queue, const Filter& filter) {
  if (filter.priority && (!queue.priority || *queue.priority < filter.priority->first ||
                          *queue.priority > filter.priority->second)) {
    return false;
  }
  return !filter.ring || (queue.ring_base && *queue.ring_base >= filter.ring->first &&
                          *queue.ring_base < filter.ring->second);
}

}  // namespace

std::vector<Found> find(const Snapshot& snapshot, const Filter& filter) {
  std::vector<Found> found;
  for (const Process& process : snapshot.processes) {
    if (!matches(process, filter)) {
      continue;
    }
    for (const Queue& queue : process.queues) {
      if (matches(queue, filter)) {
        found.push_back({&process, &queue});
      }
    }
  }
  return found;
}

const Process* find_process(const Snapshot& snapshot, pid_t pid) {
  const auto found = std::ranges::find_if(snapshot.processes, [&](const Process& process) {
    return process.pid_is_ours && process.key.pid == pid;
  });
  return found != snapshot.processes.end() ? &*found : nullptr;
}

}  // namespace gp::discover
