// What the early API keeps between calls: what each id was last seen to mean, and the leases of the
// queues it has suspended, which a thread renews for as long as the process lives.
#pragma once

#include <compare>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "gpreempt/compat/gpreempt_poc.h"
#include "gpreempt/gpreempt.h"
#include "libc/types.h"

namespace gp::compat {

struct QueueName {
  pid_t pid = 0;
  u64 start_time = 0;
  u32 queue_id = 0;
  auto operator<=>(const QueueName&) const = default;
};

struct CloseContext {
  void operator()(gpreempt_context* context) const { gpreempt_close(context); }
};
struct FreeSnapshot {
  void operator()(gpreempt_snapshot* snapshot) const { gpreempt_snapshot_free(snapshot); }
};
struct FreeLease {
  void operator()(gpreempt_lease* lease) const { gpreempt_lease_free(lease); }
};
using Context = std::unique_ptr<gpreempt_context, CloseContext>;
using Snapshot = std::unique_ptr<gpreempt_snapshot, FreeSnapshot>;
using Lease = std::unique_ptr<gpreempt_lease, FreeLease>;

// The failure of a call of gpreempt.h, with its texts.
Error last_failure(int result);
Result<Context> open_context();
Result<Snapshot> take_snapshot(gpreempt_context& context, bool with_debugfs);

// All member functions are thread-safe.
class Session {
 public:
  static Result<std::unique_ptr<Session>> create();
  ~Session();  // resumes everything

  bool is_of_this_process() const;
  Status set_target(pid_t pid);
  // The queues that match and have an id; from now on their ids mean them.
  Result<std::vector<gpreempt_queue_info_t>> find(const gpreempt_filter& filter);
  // Returns the name of the mechanism.
  Result<std::string> suspend(const std::vector<u32>& ids, u32 grace_us);
  Status resume(const std::vector<u32>& ids);

 private:
  struct Held {
    Lease lease;
    std::set<QueueName> queues;
    u32 grace_us = 0;
  };

  explicit Session(Context context);
  Result<QueueName> resolve(u32 id) const;
  Result<QueueName> resolve_held(u32 id) const;
  Result<std::string> stop(const std::set<QueueName>& queues, u32 grace_us);
  void drop_ended_leases();
  void renew_leases();

  const pid_t process_;
  Context context_;
  mutable std::mutex mutex_;  // guards what follows
  std::optional<QueueName> target_;
  std::map<u32, std::vector<QueueName>> shown_;
  std::vector<Held> held_;
  bool closing_ = false;
  std::condition_variable wake_;
  std::thread renewer_;
};

}  // namespace gp::compat
