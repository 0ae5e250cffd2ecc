#include "discover/debugfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

namespace gp::discover {
namespace {

constexpr u32 kFirstMesVersion = 110000;  // gfx11: the scheduler is MES, rls stays empty

// One node as all sources show it, for looking up queues by MQD address or doorbell.
struct NodeView {
  const HqdsNode* hqds = nullptr;
  const RunList* rls = nullptr;
  std::optional<u32> expected_xccs;
  std::optional<u32> expected_sdma_slots;
  bool has_run_list = false;  // this GPU is one whose driver keeps one
  std::map<u64, const ComputeSlot*> compute_slots;
  std::map<u32, const SdmaSlot*> sdma_slots;
  std::set<u64> listed_mqds;
  std::set<u32> listed_doorbells;
};

NodeView make_view(const TopologyNode& node, const HqdsNode* hqds, const RunList* rls) {
  NodeView view;
  view.hqds = hqds;
  view.rls = rls;
  view.expected_xccs = node.node.xccs;
  view.expected_sdma_slots = node.sdma_slots;
  view.has_run_list = node.node.gfx_target_version.value_or(kFirstMesVersion) < kFirstMesVersion ||
                      (hqds && hqds->is_gfx9) || (rls && !rls->queues.empty());
  if (hqds) {
    if (!view.expected_xccs && hqds->compute_is_whole) {
      view.expected_xccs = hqds->instances;
    }
    for (const ComputeSlot& slot : hqds->compute) {
      if (slot.registers.mqd_address) {
        view.compute_slots.try_emplace(*slot.registers.mqd_address, &slot);
      }
    }
    for (const SdmaSlot& slot : hqds->sdma) {
      if (slot.registers.doorbell) {
        view.sdma_slots.try_emplace(*slot.registers.doorbell, &slot);
      }
    }
  }
  if (rls) {
    for (const MappedQueue& queue : rls->queues) {
      view.listed_mqds.insert(queue.mqd_address);
      view.listed_doorbells.insert(queue.doorbell);
    }
  }
  return view;
}

// The first XCC's; nullptr if it could not be read.
const MqdReading* first_reading(const MqdQueue& queue) {
  return queue.instances.empty() || !queue.instances.front() ? nullptr : &*queue.instances.front();
}

// The slot a queue holds, if any.
const MqdReading* find_slot(const NodeView& view, const MqdQueue& queue) {
  for (const auto& instance : queue.instances) {
    if (!instance) {
      continue;
    }
    if (queue.type == QueueType::compute && instance->mqd_address) {
      const auto found = view.compute_slots.find(*instance->mqd_address);
      if (found != view.compute_slots.end()) {
        return &found->second->registers;
      }
    } else if (queue.type == QueueType::sdma && instance->doorbell) {
      const auto found = view.sdma_slots.find(*instance->doorbell);
      if (found != view.sdma_slots.end()) {
        return &found->second->registers;
      }
    }
  }
  return nullptr;
}

// Whether all that could hold the queue was read: only then not to find it means something.
bool all_slots_known(const NodeView& view, const MqdQueue& queue) {
  if (!view.hqds || view.hqds->stopped || queue.instances.empty()) {
    return false;
  }
  const bool compute = queue.type == QueueType::compute;
  for (const auto& instance : queue.instances) {
    if (!instance || (compute ? !instance->mqd_address : !instance->doorbell)) {
      return false;
    }
  }
  if (compute) {
    return view.hqds->compute_is_whole;
  }
  return view.hqds->sdma_is_whole &&
         (!view.hqds->is_last || view.hqds->sdma_slots == view.expected_sdma_slots);
}

std::optional<bool> find_mapped(const NodeView& view, const MqdQueue& queue,
                                const MqdReading* slot) {
  if (slot) {
    return true;
  }
  return all_slots_known(view, queue) ? std::optional(false) : std::nullopt;
}

// In the run list. Without one, a queue that is mapped must be in it.
std::optional<bool> find_active(const NodeView& view, const MqdQueue& queue,
                                std::optional<bool> mapped) {
  if (queue.active) {
    return queue.active;
  }
  const MqdReading* mqd = first_reading(queue);
  if (view.rls && view.has_run_list && mqd) {
    const bool compute = queue.type == QueueType::compute;
    const bool has_key = compute ? mqd->mqd_address.has_value() : mqd->doorbell.has_value();
    const bool listed = has_key && (compute ? view.listed_mqds.contains(*mqd->mqd_address)
                                            : view.listed_doorbells.contains(*mqd->doorbell));
    if (listed || (view.rls->is_whole && has_key)) {
      return listed;
    }
  }
  return mapped == true ? mapped : std::nullopt;
}

// Of all XCCs; unknown if that of one is.
std::optional<u64> saved_bytes(const NodeView& view, const MqdQueue& queue) {
  const MqdReading* first = first_reading(queue);
  const std::optional<u32> expected =
      first && first->xcc_stride == 0 ? std::optional(1u) : view.expected_xccs;
  if (expected != queue.instances.size()) {
    return std::nullopt;
  }
  u64 sum = 0;
  for (const auto& instance : queue.instances) {
    if (!instance || !instance->saved_bytes) {
      return std::nullopt;
    }
    sum += *instance->saved_bytes;
  }
  return sum;
}

Queue describe(const NodeView& view, const MqdQueue& queue, u32 gpu_id) {
  Queue result;
  result.queue_id = queue.queue_id;
  result.gpu_id = gpu_id;
  result.type = queue.type;
  const MqdReading* slot = find_slot(view, queue);
  result.mapped = find_mapped(view, queue, slot);
  result.active = find_active(view, queue, result.mapped);
  const MqdReading* first = first_reading(queue);
  if (!first) {
    return result;
  }
  const MqdReading& mqd = *first;
  result.priority = mqd.priority;
  result.pipe_priority = mqd.pipe_priority;
  result.ring_base = mqd.ring_base;
  result.ring_bytes = mqd.ring_bytes;
  result.doorbell = mqd.doorbell;
  result.mqd_address = mqd.mqd_address;
  if (queue.type == QueueType::compute) {
    result.saved_bytes = saved_bytes(view, queue);
  }
  // While the queue is mapped the pointers move in the slot; the MQD's are those of the last unmap.
  const bool unmapped = result.mapped == false || result.active == false;
  if (slot || unmapped) {
    result.read_index = slot ? slot->read_index : mqd.read_index;
    result.write_index = slot ? slot->write_index : mqd.write_index;
  }
  return result;
}

// A slot is one pipe and queue, on all XCCs.
u32 count_occupied(const HqdsNode& node) {
  std::set<std::pair<u32, u32>> places;
  for (const ComputeSlot& slot : node.compute) {
    places.emplace(slot.pipe, slot.queue);
  }
  return static_cast<u32>(places.size());
}

void complete_node(Node& node, const NodeView& view) {
  if (view.hqds && view.hqds->compute_is_whole) {
    node.hqds_active = count_occupied(*view.hqds);
    node.hqds = node.hqds ? node.hqds : std::optional(view.hqds->compute_slots);
    node.xccs = node.xccs ? node.xccs : std::optional(view.hqds->instances);
  }
  if (view.rls && view.rls->is_whole && view.has_run_list) {
    node.active_queues = static_cast<u32>(view.rls->queues.size());
  }
}

TopologyNode& node_of(Topology& topology, u32 node_id, u32 gpu_id) {
  for (TopologyNode& node : topology.nodes) {
    if (node.node.gpu_id == gpu_id) {
      return node;
    }
  }
  TopologyNode node;
  node.node.node_id = node_id;
  node.node.gpu_id = gpu_id;
  return topology.nodes.emplace_back(std::move(node));
}

template <class Nodes>
auto find_gpu(const Nodes& nodes, u32 gpu_id) -> decltype(&nodes.front()) {
  for (const auto& node : nodes) {
    if (node.gpu_id == gpu_id) {
      return &node;
    }
  }
  return nullptr;
}

u32 gpu_of(const MqdQueue& queue, const Topology& topology) {
  if (queue.gpu_id) {
    return *queue.gpu_id;
  }
  for (const TopologyNode& node : topology.nodes) {
    if (node.pci_address == queue.pci_address) {
      return node.node.gpu_id;
    }
  }
  return 0;
}

}  // namespace

std::vector<QueueReading> join_debugfs(const Debugfs& debugfs, Topology& topology) {
  if (debugfs.hqds) {
    for (const HqdsNode& node : debugfs.hqds->nodes) {
      node_of(topology, node.node_id, node.gpu_id);
    }
  }
  if (debugfs.rls) {
    for (const RunList& list : debugfs.rls->nodes) {
      node_of(topology, list.node_id, list.gpu_id);
    }
  }
  std::map<u32, NodeView> views;
  for (TopologyNode& node : topology.nodes) {
    const u32 gpu_id = node.node.gpu_id;
    const NodeView view =
        make_view(node, debugfs.hqds ? find_gpu(debugfs.hqds->nodes, gpu_id) : nullptr,
                  debugfs.rls ? find_gpu(debugfs.rls->nodes, gpu_id) : nullptr);
    complete_node(node.node, view);
    views.emplace(gpu_id, view);
  }
  std::vector<QueueReading> readings;
  if (debugfs.mqds) {
    for (const MqdQueue& queue : debugfs.mqds->queues) {
      const u32 gpu_id = gpu_of(queue, topology);
      readings.push_back({queue.pid, describe(views[gpu_id], queue, gpu_id)});
    }
  }
  return readings;
}

}  // namespace gp::discover
