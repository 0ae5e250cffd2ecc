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

// The process of an attachment, or the program it ran, has.
bool has_gone(const Attachment& attachment);
// The request is at fault, or the process: another mechanism would say the same.
bool is_final(int code);

struct JobStop;

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
  // The same for several jobs, each for itself: with one driver call for those that can be stopped
  // together, and one after the other for the rest.
  static void stop_together(std::span<JobStop> stops, const LeaseOptions& options);
  static void start_together(std::span<JobStop> jobs);
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
  Status start_locked(std::span<const u32> ids);
  // job_batch.cpp
  Batch* batch_for(std::optional<Id> wanted, bool held);
  Batch* batch_locked();
  static std::vector<std::unique_lock<std::mutex>> lock_all(std::span<JobStop* const> jobs);
  static std::vector<AttachedQueues> queues_of(std::span<JobStop* const> jobs);
  static void stop_by_batch(std::vector<JobStop*>& jobs, Batch& batch, const LeaseOptions& options,
                            std::vector<JobStop*>& rest);
  static void start_by_batch(std::vector<JobStop*>& jobs, Batch& batch);

  const discover::ProcessKey process_;
  const UniqueFd pidfd_;
  const AttachOptions options_;
  LeaseId whole_ = 0;               // the lease that holds all queues; 0: none
  std::map<u32, LeaseId> holders_;  // of single queues

  mutable std::mutex call_mutex_;  // of attachment_
  std::unique_ptr<Attachment> attachment_;
};

// One job of several that are stopped or started together.
struct JobStop {
  std::shared_ptr<Job> job;
  std::vector<u32> queue_ids;  // none: all
  bool held = false;           // by another lease as well
  // After stop_together(). Those that were stopped by one call have the same.
  Result<TargetReport> report = TargetReport{};
  DriverCall call;
  Status started = ok();  // after start_together()
};

}  // namespace gp::mechanism
