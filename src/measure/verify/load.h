// A gpreempt-load that verify has started and tells what to do (src/programs/load/main.cpp).
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/child.h"
#include "verify/reply.h"
#include "verify/setting.h"

namespace gp::verify {

struct LoadOptions {
  std::string name;                            // for people, and of its log
  const demo::Scheduler* scheduler = nullptr;  // none: no gpreempt at all
  const char* work_class = "offline";
  std::string job = {};  // empty: its name
  // False: its agent does not reach the daemon, which has to find it and stop it from outside.
  bool agent = true;
  unsigned queues = 1;
  // One queue of high priority for online work, one of low for offline, whatever `work_class` says;
  // only start_daemon_for_streams() takes it for two.
  bool streams = false;
  std::optional<u32> node = {};  // empty: that of the setting
  std::map<std::string, std::string> environment = {};
};

class Load {
 public:
  // Returns when it has its queues.
  static Result<Load> start(const Setting& setting, const LoadOptions& options);

  // Measures, with nobody in its way.
  Result<Rate> calibrate(const KernelShape& shape);
  // GB/s at which the GPU fills its memory.
  Result<double> bandwidth();
  // Kernels of this length back to back, until end_offline(). Returns when all queues run.
  Status begin_offline(const KernelShape& shape, double ms);
  // Instead: requests of this length, one every so often. Returns at once.
  Status begin_requests(const KernelShape& shape, double ms, double every_ms);
  Result<Reply> end_offline();
  // One kernel on every queue. Returns when all run; the end of each is an "ended".
  Status begin_once(const KernelShape& shape, double ms);
  Result<std::vector<Reply>> end_once();
  // Requests of this length, one every so often, so many. Returns at once.
  Status begin_online(const KernelShape& shape, double ms, double every_ms, unsigned requests);
  // ETIMEDOUT after so long; at once if it, or one of those beside it, dies.
  Result<Reply> end_online(milliseconds patience, const std::vector<Load*>& beside = {});

  // When it has to end early: what the program's work, of the kind `word`, came to until now. Soon,
  // or not at all; also when the user has ended us.
  Result<Reply> last_words(const std::string& word);

  // The rounds of each queue's kernel, as the GPU writes them.
  Result<std::vector<double>> progress();
  // Until it makes progress; the time that took.
  Result<milliseconds> wait_for_progress(milliseconds patience);

  const Reply& ready() const { return ready_; }
  const std::vector<Reply>& queues() const { return queues_; }
  demo::Child& child() { return *child_; }
  bool has_agent() const { return has_agent_; }  // which will reach the daemon

 private:
  Load(const Setting& setting, demo::Child child, unsigned queues)
      : setting_(setting),
        child_(std::make_unique<demo::Child>(std::move(child))),
        count_(queues) {}
  Status tell(const std::string& line) { return child_->send(line); }
  // The next line that begins with this word; others wait for their turn.
  Result<Reply> take(const std::string& word, milliseconds patience = std::chrono::minutes(2)) {
    return take(setting_.waiter, word, patience);
  }
  Result<Reply> take(const demo::Waiter& waiter, const std::string& word, milliseconds patience,
                     const std::vector<Load*>& beside = {});
  bool take_if_said(const std::string& word, Reply& reply);
  Result<std::string> words_of(const KernelShape& shape, double ms);

  const Setting& setting_;
  std::unique_ptr<demo::Child> child_;
  unsigned count_;
  bool has_agent_ = false;
  std::size_t read_ = 0;  // of the child's lines
  std::deque<std::string> unread_;
  std::vector<KernelShape> told_rates_;
  Reply ready_;
  std::vector<Reply> queues_;
};

}  // namespace gp::verify
