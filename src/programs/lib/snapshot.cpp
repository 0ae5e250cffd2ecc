// Snapshots: plain data behind getters, texts owned by the snapshot.
#include <fmt/format.h>

#include "lib/boundary.h"
#include "lib/context.h"

namespace gp::lib {
namespace {

struct QueuePlace {
  std::size_t process, queue;
};

// Sets a field and its bit in `valid` if the reading is known.
template <class T, class U>
void set(const std::optional<T>& reading, U& field, u32& valid, u32 bit) {
  if (reading) {
    field = static_cast<U>(*reading);
    valid |= bit;
  }
}

}  // namespace
}  // namespace gp::lib

struct gpreempt_snapshot {
  gp::discover::Snapshot data;
  std::vector<std::string> gfx_names;             // of data.nodes
  std::vector<gp::lib::QueuePlace> queue_places;  // all queues, in order
};

namespace gp::lib {
namespace {

gpreempt_node describe(const gpreempt_snapshot& snapshot, std::size_t index) {
  const discover::Node& node = snapshot.data.nodes[index];
  gpreempt_node out{};
  out.gpu_id = node.gpu_id;
  out.gfx = snapshot.gfx_names[index].c_str();
  out.name = node.name.c_str();
  set(node.cus, out.cus, out.valid, GPREEMPT_NODE_CUS);
  set(node.xccs, out.xccs, out.valid, GPREEMPT_NODE_XCCS);
  set(node.hqds, out.hqds, out.valid, GPREEMPT_NODE_HQDS);
  set(node.hqds_active, out.hqds_active, out.valid, GPREEMPT_NODE_HQDS_ACTIVE);
  set(node.save_area_bytes, out.save_area_bytes, out.valid, GPREEMPT_NODE_SAVE_AREA);
  return out;
}

gpreempt_process describe(const discover::Process& process) {
  gpreempt_process out{};
  out.pid = process.key.pid;
  out.start_time = process.key.start_time;
  out.work_class = number_of(process.work_class);
  out.queues = static_cast<u32>(process.queues.size());
  out.command = process.command.c_str();
  out.tag = process.tag.c_str();
  set(process.uid, out.uid, out.valid, GPREEMPT_PROCESS_UID);
  set(process.namespace_pid, out.namespace_pid, out.valid, GPREEMPT_PROCESS_NAMESPACE_PID);
  for (const discover::GpuUse& use : process.gpus) {
    if (use.vram_bytes) {
      out.vram_bytes += *use.vram_bytes;
      out.valid |= GPREEMPT_PROCESS_VRAM;
    }
  }
  return out;
}

gpreempt_queue describe(const gpreempt_snapshot& snapshot, const QueuePlace& place) {
  const discover::Process& process = snapshot.data.processes[place.process];
  const discover::Queue& queue = process.queues[place.queue];
  gpreempt_queue out{};
  out.pid = process.key.pid;
  out.start_time = process.key.start_time;
  out.gpu_id = queue.gpu_id;
  out.type = number_of(queue.type);
  out.work_class = number_of(process.work_class);
  out.process = place.process;
  set(queue.queue_id, out.queue_id, out.valid, GPREEMPT_QUEUE_ID);
  set(queue.priority, out.priority, out.valid, GPREEMPT_QUEUE_PRIORITY);
  set(queue.mapped, out.mapped, out.valid, GPREEMPT_QUEUE_MAPPED);
  set(queue.active, out.active, out.valid, GPREEMPT_QUEUE_ACTIVE);
  set(queue.ring_base, out.ring_base, out.valid, GPREEMPT_QUEUE_RING_BASE);
  set(queue.ring_bytes, out.ring_bytes, out.valid, GPREEMPT_QUEUE_RING_BYTES);
  set(queue.read_index, out.read_index, out.valid, GPREEMPT_QUEUE_READ_INDEX);
  set(queue.write_index, out.write_index, out.valid, GPREEMPT_QUEUE_WRITE_INDEX);
  set(queue.doorbell, out.doorbell, out.valid, GPREEMPT_QUEUE_DOORBELL);
  set(queue.saved_bytes, out.saved_bytes, out.valid, GPREEMPT_QUEUE_SAVED_BYTES);
  return out;
}

Result<discover::Filter> filter_of(const gpreempt_filter* given) {
  const gpreempt_filter wanted = TRY(read_options(given, "gpreempt_filter"));
  constexpr u32 known = GPREEMPT_MATCH_PID | GPREEMPT_MATCH_CLASS | GPREEMPT_MATCH_TAG |
                        GPREEMPT_MATCH_PRIORITY | GPREEMPT_MATCH_RING;
  if ((wanted.match & ~known) != 0) {
    return Error{EINVAL, fmt::format("gpreempt_filter.match {:#x}", wanted.match), ""};
  }
  discover::Filter filter;
  if ((wanted.match & GPREEMPT_MATCH_PID) != 0) {
    filter.pid = wanted.pid;
  }
  if ((wanted.match & GPREEMPT_MATCH_CLASS) != 0) {
    filter.work_class = work_class_of(wanted.work_class);
    if (!filter.work_class) {
      return Error{EINVAL, fmt::format("class {}", wanted.work_class), ""};
    }
  }
  if ((wanted.match & GPREEMPT_MATCH_TAG) != 0) {
    if (wanted.tag == nullptr || wanted.tag[0] == '\0') {
      return Error{EINVAL, "gpreempt_filter.tag is empty", ""};
    }
    filter.tag = wanted.tag;
  }
  if ((wanted.match & GPREEMPT_MATCH_PRIORITY) != 0) {
    filter.priority = {wanted.priority_lowest, wanted.priority_highest};
  }
  if ((wanted.match & GPREEMPT_MATCH_RING) != 0) {
    filter.ring = {wanted.ring_first, wanted.ring_end};
  }
  return filter;
}

Result<gpreempt_snapshot> take(const gpreempt_context& context,
                               const gpreempt_snapshot_options* given) {
  const auto options = TRY(read_options(given, "gpreempt_snapshot_options"));
  discover::Sources sources;
  sources.debugfs = options.without_debugfs == 0;
  sources.occupancy = options.with_occupancy != 0;
  Result<discover::Snapshot> taken =
      discover::take_snapshot(system_os(), context.paths, context.classes, sources);
  if (!taken) {
    if (taken.error().code == ENOENT && context.paths.live) {
      taken.error().code = ENODEV;  // a machine without the driver
    }
    return std::move(taken.error());
  }
  gpreempt_snapshot snapshot;
  snapshot.data = std::move(*taken);
  for (const discover::Node& node : snapshot.data.nodes) {
    snapshot.gfx_names.push_back(discover::gfx_name(node));
  }
  for (std::size_t i = 0; i < snapshot.data.processes.size(); ++i) {
    for (std::size_t j = 0; j < snapshot.data.processes[i].queues.size(); ++j) {
      snapshot.queue_places.push_back({i, j});
    }
  }
  return snapshot;
}

// The number of the queue that find() points at: processes and queues are in order.
std::size_t index_of(const gpreempt_snapshot& snapshot, const discover::Found& found) {
  std::size_t index = 0;
  for (const discover::Process* process = snapshot.data.processes.data(); process != found.process;
       ++process) {
    index += process->queues.size();
  }
  return index + static_cast<std::size_t>(found.queue - found.process->queues.data());
}

int no_such_index(const char* what, std::size_t index) {
  return fail(Error{ENOENT, fmt::format("{} {} of the snapshot", what, index), ""});
}

int null_snapshot() { return fail(EINVAL, "the snapshot is null"); }

}  // namespace
}  // namespace gp::lib

using namespace gp::lib;

int gpreempt_snapshot_take(gpreempt_context* context, const gpreempt_snapshot_options* options,
                           gpreempt_snapshot** snapshot) {
  return guarded([&]() -> int {
    if (context == nullptr || snapshot == nullptr) {
      return fail(EINVAL, "gpreempt_snapshot_take: no context, or no place for the snapshot");
    }
    gp::Result<gpreempt_snapshot> taken = take(*context, options);
    if (!taken) {
      return fail(taken.error());
    }
    *snapshot = new gpreempt_snapshot(std::move(*taken));
    return 0;
  });
}

void gpreempt_snapshot_free(gpreempt_snapshot* snapshot) { delete snapshot; }

ssize_t gpreempt_snapshot_node_count(const gpreempt_snapshot* snapshot) {
  return snapshot == nullptr ? null_snapshot() : std::ssize(snapshot->data.nodes);
}

int gpreempt_snapshot_node(const gpreempt_snapshot* snapshot, size_t index, gpreempt_node* node) {
  return guarded([&]() -> int {
    if (snapshot == nullptr) {
      return null_snapshot();
    }
    if (index >= snapshot->data.nodes.size()) {
      return no_such_index("node", index);
    }
    return write_answer(describe(*snapshot, index), node, "gpreempt_node");
  });
}

ssize_t gpreempt_snapshot_process_count(const gpreempt_snapshot* snapshot) {
  return snapshot == nullptr ? null_snapshot() : std::ssize(snapshot->data.processes);
}

int gpreempt_snapshot_process(const gpreempt_snapshot* snapshot, size_t index,
                              gpreempt_process* process) {
  return guarded([&]() -> int {
    if (snapshot == nullptr) {
      return null_snapshot();
    }
    if (index >= snapshot->data.processes.size()) {
      return no_such_index("process", index);
    }
    return write_answer(describe(snapshot->data.processes[index]), process, "gpreempt_process");
  });
}

ssize_t gpreempt_snapshot_queue_count(const gpreempt_snapshot* snapshot) {
  return snapshot == nullptr ? null_snapshot() : std::ssize(snapshot->queue_places);
}

int gpreempt_snapshot_queue(const gpreempt_snapshot* snapshot, size_t index,
                            gpreempt_queue* queue) {
  return guarded([&]() -> int {
    if (snapshot == nullptr) {
      return null_snapshot();
    }
    if (index >= snapshot->queue_places.size()) {
      return no_such_index("queue", index);
    }
    return write_answer(describe(*snapshot, snapshot->queue_places[index]), queue,
                        "gpreempt_queue");
  });
}

ssize_t gpreempt_snapshot_warning_count(const gpreempt_snapshot* snapshot) {
  return snapshot == nullptr ? null_snapshot() : std::ssize(snapshot->data.warnings);
}

const char* gpreempt_snapshot_warning(const gpreempt_snapshot* snapshot, size_t index) {
  return snapshot != nullptr && index < snapshot->data.warnings.size()
             ? snapshot->data.warnings[index].c_str()
             : nullptr;
}

ssize_t gpreempt_snapshot_find(const gpreempt_snapshot* snapshot, const gpreempt_filter* filter,
                               size_t* indices, size_t capacity) {
  return guarded([&]() -> ssize_t {
    if (snapshot == nullptr || (indices == nullptr && capacity > 0)) {
      return fail(EINVAL, "gpreempt_snapshot_find: no snapshot, or no place for indices");
    }
    const gp::Result<gp::discover::Filter> wanted = filter_of(filter);
    if (!wanted) {
      return fail(wanted.error());
    }
    const auto found = gp::discover::find(snapshot->data, *wanted);
    for (std::size_t i = 0; i < std::min(found.size(), capacity); ++i) {
      indices[i] = index_of(*snapshot, found[i]);
    }
    return std::ssize(found);
  });
}
