#include "discover/assign.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "discover/discover.h"

namespace gp::discover {
namespace {

// Everything debugfs knows and sysfs does not.
void take_reading(Queue& queue, const Queue& reading) {
  queue.priority = reading.priority;
  queue.pipe_priority = reading.pipe_priority;
  queue.mapped = reading.mapped;
  queue.active = reading.active;
  queue.ring_base = reading.ring_base;
  queue.ring_bytes = queue.ring_bytes ? queue.ring_bytes : reading.ring_bytes;
  queue.read_index = reading.read_index;
  queue.write_index = reading.write_index;
  queue.doorbell = reading.doorbell;
  queue.saved_bytes = reading.saved_bytes;
  queue.mqd_address = reading.mqd_address;
}

template <class T>
void keep_if_same(std::optional<T>& common, const std::optional<T>& other) {
  if (common != other) {
    common.reset();
  }
}

// A reading that holds for all of them.
Queue common_reading(const std::vector<Queue>& readings) {
  Queue common = readings.front();
  for (const Queue& reading : readings) {
    keep_if_same(common.priority, reading.priority);
    keep_if_same(common.pipe_priority, reading.pipe_priority);
    keep_if_same(common.mapped, reading.mapped);
    keep_if_same(common.active, reading.active);
    keep_if_same(common.read_index, reading.read_index);
    keep_if_same(common.write_index, reading.write_index);
    keep_if_same(common.saved_bytes, reading.saved_bytes);
  }
  if (readings.size() > 1) {
    common.ring_base.reset();
    common.doorbell.reset();
    common.mqd_address.reset();
  }
  return common;
}

// mqds calls both kinds of SDMA by one name.
using Kind = std::tuple<u32, bool, std::optional<u64>>;
Kind kind_of(const Queue& queue) {
  return {queue.gpu_id, queue.type == QueueType::compute, queue.ring_bytes};
}

struct Alike {
  std::vector<Queue*> queues;
  std::vector<Queue> readings;
};

// Newest first; false if the order is not certain.
bool sort_by_creation(std::vector<Queue*>& queues, const CreationOrder& created) {
  std::vector<std::pair<u64, Queue*>> dated;
  for (Queue* queue : queues) {
    const auto date = queue->queue_id ? created(*queue->queue_id) : std::nullopt;
    if (!date) {
      return false;
    }
    dated.emplace_back(*date, queue);
  }
  const auto date_of = [](const auto& entry) { return entry.first; };
  std::ranges::sort(dated, std::ranges::greater{}, date_of);
  if (std::ranges::adjacent_find(dated, {}, date_of) != dated.end()) {
    return false;
  }
  std::ranges::transform(dated, queues.begin(), [](const auto& entry) { return entry.second; });
  return true;
}

void assign_alike(Alike& alike, const CreationOrder& created, std::vector<Queue>& unassigned) {
  if (alike.queues.size() == 1 || sort_by_creation(alike.queues, created)) {
    for (std::size_t i = 0; i < alike.queues.size(); ++i) {
      take_reading(*alike.queues[i], alike.readings[i]);
    }
    return;
  }
  const Queue common = common_reading(alike.readings);
  for (Queue* queue : alike.queues) {
    take_reading(*queue, common);
  }
  unassigned.insert(unassigned.end(), alike.readings.begin(), alike.readings.end());
}

// Readings that name their queue themselves. Returns the others.
std::vector<Queue> assign_named(Process& process, std::vector<Queue> readings, bool& same) {
  std::vector<Queue> nameless;
  for (Queue& reading : readings) {
    if (!reading.queue_id) {
      nameless.push_back(std::move(reading));
      continue;
    }
    const auto found = std::ranges::find(process.queues, reading.queue_id, &Queue::queue_id);
    if (found == process.queues.end()) {
      same = false;
    } else {
      take_reading(*found, reading);
    }
  }
  return nameless;
}

void sort_queues(std::vector<Queue>& queues) {
  std::ranges::stable_sort(queues, [](const Queue& left, const Queue& right) {
    return std::tie(left.gpu_id, left.queue_id) < std::tie(right.gpu_id, right.queue_id);
  });
}

}  // namespace

bool assign_readings(Process& process, std::vector<Queue> readings, const CreationOrder& created) {
  if (process.queues.empty()) {
    // sysfs does not show the process: debugfs is all there is.
    process.queues = std::move(readings);
    sort_queues(process.queues);
    return true;
  }
  bool same = true;
  const bool any_named = std::ranges::any_of(
      readings, [](const Queue& reading) { return reading.queue_id.has_value(); });
  readings = assign_named(process, std::move(readings), same);
  if (any_named && readings.empty()) {
    return same;
  }
  std::map<Kind, Alike> kinds;
  for (Queue& queue : process.queues) {
    kinds[kind_of(queue)].queues.push_back(&queue);
  }
  for (Queue& reading : readings) {
    kinds[kind_of(reading)].readings.push_back(std::move(reading));
  }
  for (auto& [kind, alike] : kinds) {
    if (alike.queues.size() == alike.readings.size() && std::get<2>(kind)) {
      assign_alike(alike, created, process.unassigned);
    } else {
      same = false;
      process.unassigned.insert(process.unassigned.end(), alike.readings.begin(),
                                alike.readings.end());
    }
  }
  return same;
}

}  // namespace gp::discover
