// Puts the sources together: sysfs says who has which queues, debugfs what state they are in, /proc
// who the processes are. Each may be missing.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "discover/assign.h"
#include "discover/classify.h"
#include "discover/debugfs.h"
#include "discover/discover.h"
#include "discover/namespaces.h"
#include "discover/process_files.h"
#include "discover/process_queues.h"
#include "discover/topology.h"

namespace gp::discover {
namespace {

constexpr int kAttempts = 3;  // while queues come and go between reading sysfs and debugfs

class SnapshotTaker {
 public:
  SnapshotTaker(Os& os, const Paths& paths, const ClassConfig& classes, const Sources& sources)
      : os_(os), paths_(paths), classes_(classes), sources_(sources) {}

  // False if the sources do not agree: queues have come or gone meanwhile.
  bool attempt() {
    snapshot_ = {};
    processes_.clear();
    read_sysfs();
    const bool agree = read_debugfs_files();
    for (auto& [pid, process] : processes_) {
      process.key.pid = pid;
      if (!process.queues.empty()) {
        finish(std::move(process));
      }
    }
    for (TopologyNode& node : topology_.nodes) {
      snapshot_.nodes.push_back(std::move(node.node));
    }
    return agree;
  }

  bool found_anything() const { return has_topology_ || has_debugfs_; }
  Error why_nothing() const {
    return Error{ENOENT, fmt::format("no KFD device: {}/topology/nodes", paths_.sysfs),
                 "is the amdgpu driver loaded?"};
  }
  Snapshot take(bool agree) {
    if (!agree) {
      snapshot_.warnings.emplace_back(
          "queues came or went while they were read: some details are not shown");
    }
    return std::move(snapshot_);
  }

 private:
  void read_sysfs() {
    topology_ = {};
    if (paths_.sysfs.empty()) {
      return;
    }
    auto topology = read_topology(os_, paths_.sysfs);
    has_topology_ = static_cast<bool>(topology);
    if (topology) {
      topology_ = std::move(*topology);
      snapshot_.warnings = topology_.warnings;
    } else {
      snapshot_.warnings.push_back(topology.error().message());
    }
    const auto pids = list_processes(os_, paths_.sysfs);
    if (!pids) {
      snapshot_.warnings.push_back(pids.error().message());
      return;
    }
    for (const pid_t pid : *pids) {
      read_sysfs_queues(pid);
    }
  }

  void read_sysfs_queues(pid_t pid) {
    const auto ids = list_queue_ids(os_, paths_.sysfs, pid);
    if (!ids) {
      return;  // it ended
    }
    Process& process = processes_[pid];
    for (const u32 id : *ids) {
      if (const auto found = read_queue(os_, paths_.sysfs, pid, id)) {
        Queue queue;
        queue.queue_id = id;
        queue.gpu_id = found->gpu_id.value_or(0);
        queue.type = found->type;
        queue.ring_bytes = found->ring_bytes;
        process.queues.push_back(queue);
      }
    }
    std::ranges::stable_sort(process.queues, {}, &Queue::gpu_id);
  }

  bool read_debugfs_files() {
    if (!sources_.debugfs || paths_.debugfs.empty()) {
      return true;
    }
    const Debugfs debugfs = read_debugfs(os_, paths_.debugfs);
    has_debugfs_ = debugfs.mqds || debugfs.hqds || debugfs.rls;
    snapshot_.warnings.insert(snapshot_.warnings.end(), debugfs.warnings.begin(),
                              debugfs.warnings.end());
    std::map<pid_t, std::vector<Queue>> readings;
    for (QueueReading& reading : join_debugfs(debugfs, topology_)) {
      readings[reading.pid].push_back(reading.queue);
    }
    if (!debugfs.mqds) {
      return true;
    }
    bool agree = true;
    for (auto& [pid, queues] : readings) {
      processes_.try_emplace(pid);
    }
    for (auto& [pid, process] : processes_) {
      const auto created = [this, pid = pid](u32 id) { return creation_order(pid, id); };
      agree = assign_readings(process, std::move(readings[pid]), created) && agree;
    }
    // Damage has been reported already.
    return agree || debugfs.mqds->damaged_lines > 0;
  }

  std::optional<u64> creation_order(pid_t pid, u32 queue_id) {
    const auto status = os_.status(queue_directory(paths_.sysfs, pid, queue_id));
    return status && status->is_sysfs ? std::optional(status->inode) : std::nullopt;
  }

  void finish(Process process) {
    std::optional<std::string> environ;
    std::string cgroup;
    process.pid_is_ours = pids_are_ours();
    if (may_read_processes() && process.pid_is_ours) {
      auto facts = read_process(os_, paths_.proc, process.key.pid, needs_cgroup());
      if (facts) {
        process.key = facts->key;
        process.uid = facts->uid;
        process.namespace_pid = facts->namespace_pid;
        process.command = std::move(facts->command);
        environ = std::move(facts->environ);
        cgroup = std::move(facts->cgroup);
      } else if (!are_hidden()) {
        return;  // it ended, and its queues are going
      }
    }
    read_use(process);
    classify(process, classes_, environ ? std::optional<std::string_view>(*environ) : std::nullopt,
             cgroup, snapshot_.warnings);
    snapshot_.processes.push_back(std::move(process));
  }

  void read_use(Process& process) {
    if (paths_.sysfs.empty()) {
      return;
    }
    for (const Queue& queue : process.queues) {
      const bool first = process.gpus.empty() || process.gpus.back().gpu_id != queue.gpu_id;
      if (queue.gpu_id != 0 && first) {
        process.gpus.push_back(
            read_gpu_use(os_, paths_.sysfs, process.key.pid, queue.gpu_id, sources_.occupancy));
      }
    }
  }

  // A saved copy is not mixed with the running system's processes.
  bool may_read_processes() const {
    return !paths_.proc.empty() && (paths_.live || paths_.proc != Paths{}.proc);
  }
  bool needs_cgroup() const {
    return std::ranges::any_of(classes_.rules,
                               [](const ClassRule& rule) { return !rule.cgroup.empty(); });
  }
  bool pids_are_ours() {
    if (!pids_are_ours_) {
      pids_are_ours_ = !paths_.live || sysfs_pids_are_ours(os_, paths_);
      if (!*pids_are_ours_) {
        snapshot_.warnings.emplace_back(
            "this is a container with a pid namespace of its own: pids are the host's");
      }
    }
    return *pids_are_ours_;
  }
  bool are_hidden() {
    if (!are_hidden_) {
      are_hidden_ = processes_are_hidden(os_, paths_);
    }
    return *are_hidden_;
  }

  Os& os_;
  const Paths& paths_;
  const ClassConfig& classes_;
  const Sources& sources_;
  bool has_topology_ = false;
  bool has_debugfs_ = false;
  std::optional<bool> pids_are_ours_;
  std::optional<bool> are_hidden_;
  Topology topology_;
  std::map<pid_t, Process> processes_;  // by the pid that sysfs and debugfs use
  Snapshot snapshot_;
};

}  // namespace

Result<Snapshot> take_snapshot(Os& os, const Paths& paths, const ClassConfig& classes,
                               const Sources& sources) {
  SnapshotTaker taker(os, paths, classes, sources);
  bool agree = taker.attempt();
  for (int attempt = 1; !agree && paths.live && attempt < kAttempts; ++attempt) {
    agree = taker.attempt();
  }
  if (!taker.found_anything()) {
    return taker.why_nothing();
  }
  return taker.take(agree);
}

}  // namespace gp::discover
