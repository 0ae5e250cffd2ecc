// What is known about the GPUs of this machine and who uses them, at one moment: plain data.
//
// Unknown is never zero: a reading that could not be made is an empty optional, shown as N/A.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "libc/types.h"
#include "model/keys.h"
#include "model/work_class.h"

namespace gp::discover {

enum class QueueType { compute, sdma, sdma_xgmi, unknown };
const char* name(QueueType type);

struct Node {
  u32 node_id = 0;  // the number of its directory in the topology
  u32 gpu_id = 0;
  std::string name;                       // marketing or ASIC name; may be empty
  std::optional<u32> gfx_target_version;  // 90402 is gfx942
  std::optional<u32> cus;                 // of the whole node
  std::optional<u32> xccs;
  std::optional<u32> hqds;             // slots for compute queues, as the driver counts them
  std::optional<u32> hqds_active;      // of those, occupied now (debugfs hqds)
  std::optional<u32> active_queues;    // queues in the run list (debugfs rls)
  std::optional<u64> save_area_bytes;  // CWSR memory per queue
  std::optional<u32> capability;       // HSA_CAP_* bits
  std::optional<u32> drm_render_minor;
};
// "gfx942", "gfx90a"; empty if unknown.
std::string gfx_name(const Node& node);

struct Queue {
  std::optional<u32> queue_id;  // unknown where only debugfs is there: its files do not name it
  u32 gpu_id = 0;               // 0 if unknown
  QueueType type = QueueType::unknown;
  std::optional<u32> priority;       // 0..15
  std::optional<u32> pipe_priority;  // 0 low, 1 medium, 2 high
  std::optional<bool> mapped;        // has a hardware slot now
  std::optional<bool> active;        // in the run list: not stopped, not evicted
  std::optional<u64> ring_base;
  std::optional<u64> ring_bytes;
  // In dwords, as the hardware counts: an AQL packet has 16. Of the last unmap if not mapped.
  std::optional<u64> read_index;
  std::optional<u64> write_index;
  std::optional<u32> doorbell;
  std::optional<u64> saved_bytes;  // wave state in the save area at the last unmap
  std::optional<u64> mqd_address;
};

// Why a process has its class; the strongest that says something wins.
enum class ClassSource { none, queue_priority, config_rule, environment, run_command, enforced };

struct GpuUse {
  u32 gpu_id = 0;
  std::optional<u64> vram_bytes;
  std::optional<u64> evicted_ms;
  std::optional<u32> cu_occupancy;
};

struct Process {
  ProcessKey key;
  std::optional<pid_t> namespace_pid;  // its pid in its own pid namespace, where that differs
  std::optional<uid_t> uid;
  std::string command;  // "python train.py"; empty if it may not be read
  std::string tag;      // AMD_QUEUE_TAG; empty if none
  WorkClass work_class = WorkClass::normal;
  ClassSource class_source = ClassSource::none;
  std::vector<GpuUse> gpus;
  std::vector<Queue> queues;  // by gpu, then queue id
  // Readings of debugfs, which names no queue ids: they belong to some of `queues`, but it is not
  // known to which.
  std::vector<Queue> unassigned;
  // False inside a container: key.pid is the host's then and may be another process's here.
  bool pid_is_ours = true;
};

struct Snapshot {
  std::vector<Node> nodes;            // GPUs only, in topology order
  std::vector<Process> processes;     // with at least one queue, by pid
  std::vector<std::string> warnings;  // what could not be read, one line per cause
};

}  // namespace gp::discover
