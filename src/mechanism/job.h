// One process under control: the mechanism chosen for it, its attachment, and who holds which of
// its queues. The Controller's; see there.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "mechanism/controller.h"
#include "mechanism/mechanism.h"

namespace gp::mechanism {

class Job {
 public:
  // `pidfd` is of the process.
  Job(const discover::ProcessKey& process, UniqueFd pidfd, const AttachOptions& options)
      : process_(process), pidfd_(std::move(pidfd)), options_(options) {}

  // The process has; a zombie too.
  bool has_ended() const;

  // ---- who holds what; under the Controller's lock ----

  // EBUSY if another lease holds one of the queues. No ids: all of them.
  Status reserve(LeaseId lease, std::span<const u32> ids);
  void release(LeaseId lease);
  bool is_held() const { return whole_ != 0 || !holders_.empty(); }
  bool is_held_besides(LeaseId lease) const;

  // ---- the driver; each call excludes the others, the Controller's lock is not held ----

  // Attached by `wanted`, or by the best that can be. An attachment by another mechanism is kept
  // while it holds queues: EBUSY.
  Status attach(std::optional<Id> wanted, bool held);
  // Stops the queues by the mechanism asked for, or the best: if one fails on its own account the
  // next is tried.
  Result<TargetReport> stop(const Target& target, const LeaseOptions& options, bool held,
                            DriverCall& call);
  // If it fails everything is let go of, which starts the queues too.
  Status start(std::span<const u32> ids);
  Result<std::vector<KnownQueue>> queues();
  // Lets go of the process.
  Status detach();
  // A descriptor that becomes readable when the process, or the program it runs, has gone; empty if
  // it cannot go without us.
  UniqueFd watch_end() const;

 private:
  Status attach_locked(std::optional<Id> wanted, bool held, std::span<const Id> not_these);
  Result<TargetReport> stop_locked(const Target& target, const StopOptions& options,
                                   DriverCall& call);

  const discover::ProcessKey process_;
  const UniqueFd pidfd_;
  const AttachOptions options_;
  LeaseId whole_ = 0;               // the lease that holds all queues; 0: none
  std::map<u32, LeaseId> holders_;  // of single queues

  mutable std::mutex call_mutex_;  // of attachment_
  std::unique_ptr<Attachment> attachment_;
};

}  // namespace gp::mechanism
