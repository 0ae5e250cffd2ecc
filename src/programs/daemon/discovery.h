// Finds the processes that use the GPU, those without an agent too, on a thread of its own: reading
// sysfs and /proc takes milliseconds, which the loop does not have.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "daemon/loop.h"
#include "discover/discover.h"
#include "sched/tables.h"

namespace gp::daemon {

// A process as it is seen from outside; without queues: they have gone.
struct SeenProcess {
  discover::Process process;
  sched::QueueCounts queues;
  bool appeared = false;  // a queue is new
};

class Discovery {
 public:
  // Called in the loop's thread.
  struct Handlers {
    std::function<void(const std::vector<discover::Node>&)> on_nodes;
    std::function<void(const SeenProcess&)> on_process;
  };

  // ENOENT if there is no KFD.
  static Result<std::unique_ptr<Discovery>> start(Loop& loop, const discover::ClassConfig& classes,
                                                  Handlers handlers);
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;
  ~Discovery();

  // The agent of this process tells of its queues: no need to look.
  void covered(const ProcessKey& key, bool is);
  // Looks at all processes again with other rules.
  void set_classes(const discover::ClassConfig& classes);

 private:
  using Queues = std::map<u32, u32>;  // gpu_id by queue id; compute only
  Discovery(Loop& loop, discover::ClassConfig classes, Handlers handlers)
      : loop_(loop), handlers_(std::move(handlers)), classes_(std::move(classes)) {}
  void run();
  void wake();
  void look();
  void take_wishes(std::set<ProcessKey>& changed);
  void tell(const std::set<ProcessKey>& changed, const std::set<ProcessKey>& appeared);

  Loop& loop_;
  Handlers handlers_;
  std::unique_ptr<discover::Watch> watch_;
  std::map<ProcessKey, Queues> known_;
  std::set<ProcessKey> look_again_;   // the watch wakes us soon: nobody speaks for these
  std::map<ProcessKey, u32> unread_;  // how often they could not be read
  UniqueFd wake_;
  std::thread thread_;

  std::mutex mutex_;  // over what follows
  discover::ClassConfig classes_;
  std::vector<std::pair<ProcessKey, bool>> covered_;
  bool look_at_all_ = false;
  bool ending_ = false;
};

}  // namespace gp::daemon
