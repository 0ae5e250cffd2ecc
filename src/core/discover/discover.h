// Makes Snapshots, finds in them, and watches for queues that come and go.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "discover/snapshot.h"
#include "os/os.h"

namespace gp::discover {

// Where to look. The defaults are the running system; a saved copy is read by pointing elsewhere,
// with `live` off, so that nothing of the running system is mixed in.
struct Paths {
  std::string sysfs = "/sys/class/kfd/kfd";
  std::string debugfs =
      "/sys/kernel/debug/kfd";  // a folder with mqds, hqds, rls; each may be missing
  std::string proc = "/proc";
  bool live = true;
};

// How priority numbers and processes become classes. From the configuration and GPREEMPT_*.
struct ClassRule {
  std::optional<uid_t> uid{};
  std::string cgroup{};   // part of a path in /proc/<pid>/cgroup; empty: any
  std::string command{};  // part of the command line; empty: any
  WorkClass work_class = WorkClass::normal;
  bool enforce = false;  // whatever the process says of itself
};
struct ClassConfig {
  u32 online_from = 10;  // priorities online_from..15 are online
  u32 offline_to = 5;    // 0..offline_to are offline
  std::vector<ClassRule> rules;
};

struct Sources {
  bool debugfs =
      true;  // costly: takes every process's mutex in the driver. Never in a control loop
  bool occupancy = false;  // reads GPU registers; costly too
};

// The defaults, changed by GPREEMPT_ONLINE_PRIORITY and GPREEMPT_OFFLINE_PRIORITY (0..15). EINVAL
// if one is not such a number, or if offline is not below online.
Result<ClassConfig> class_config_from_environment();

// Fails with ENOENT if there is nothing to read: neither a KFD in sysfs nor its debugfs.
Result<Snapshot> take_snapshot(Os& os, const Paths& paths, const ClassConfig& classes,
                               const Sources& sources);

// What to look for; an empty field matches everything.
struct Filter {
  std::optional<pid_t> pid{};
  std::optional<WorkClass> work_class{};
  std::string tag{};
  std::optional<std::pair<u32, u32>> priority{};  // lowest, highest
  std::optional<std::pair<u64, u64>> ring{};      // first address, behind the last
};
struct Found {
  const Process* process;
  const Queue* queue;
};
std::vector<Found> find(const Snapshot& snapshot, const Filter& filter);

// The process as the snapshot has it; nullptr if it has no queues.
const Process* find_process(const Snapshot& snapshot, pid_t pid);

// Reads /proc/<pid>/stat; ESRCH if there is no such process or it is a zombie.
Result<ProcessKey> process_key(Os& os, const Paths& paths, pid_t pid);

// Reports queues that appear and vanish, within 100 ms, without debugfs.
struct QueueEvent {
  bool appeared = true;
  QueueKey key;
  u32 gpu_id = 0;
  QueueType type = QueueType::unknown;
};
// For one thread at a time. What makes it wake up, and when it does not, is said in watch.cpp.
class Watch {
 public:
  static Result<std::unique_ptr<Watch>> create(Os& os, const Paths& paths);
  virtual ~Watch() = default;
  // Readable when take_events() may have something; for poll and epoll.
  virtual int fd() const = 0;
  // The first call gives the queues that are there.
  virtual Result<std::vector<QueueEvent>> take_events() = 0;
  // Somebody who knows better (an agent, the debugger) tells of this process's queues: it is not
  // polled. Its queues are still reported to vanish when it ends.
  virtual void covered(const ProcessKey& process, bool is) = 0;
};

}  // namespace gp::discover
