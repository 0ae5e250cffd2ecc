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

// Whether the process of an attachment has ended or runs another program.
bool has_gone(const Attachment& attachment);
// The request is at fault, or the process: another mechanism would say the same.
bool is_final(int code);

struct ProcessStop;

class ControlledProcess {
 public:
  // `pidfd` is of the process.
  ControlledProcess(const ProcessKey& process, UniqueFd pidfd, const AttachOptions& options)
      : process_(process), pidfd_(std::move(pidfd)), options_(options) {}

  // Whether the process has ended; a zombie has.
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
  Status attach(std::optional<Mechanism> wanted, bool held);
  // Stops the queues by the mechanism asked for, or the best: if one fails on its own account the
  // next is tried.
  Result<TargetReport> stop(const Target& target, const LeaseOptions& options, bool held,
                            DriverCall& call);
  // If it fails everything is let go of, which starts the queues too.
  Status start(std::span<const u32> ids);
  // The same for several processes, each for itself: with one driver call for those that share a
  // Batch, and one after the other for the rest.
  static void stop_together(std::span<ProcessStop> stops, const LeaseOptions& options);
  static void start_together(std::span<ProcessStop> starts);
  // Stops some and starts others. No process may be in both.
  static void swap_together(std::span<ProcessStop> stops, std::span<ProcessStop> starts,
                            const LeaseOptions& options);
  Result<std::vector<KnownQueue>> queues();
  // Lets go of the process.
  Status detach();
  Status set_deadline(Clock::time_point deadline);
  // A descriptor that becomes readable when the process, or the program it runs, has gone; empty if
  // it cannot go without us.
  UniqueFd watch_end() const;

 private:
  Status attach_locked(std::optional<Mechanism> wanted, bool held, MechanismSet not_these);
  Result<TargetReport> stop_locked(const Target& target, const StopOptions& options,
                                   DriverCall& call);
  Status start_locked(std::span<const u32> ids);
  // process_batch.cpp
  using Group = std::vector<ProcessStop*>;
  Batch* batch_for(std::optional<Mechanism> wanted, bool held);
  Batch* current_batch();
  Batch* batch_locked();
  static std::vector<std::unique_lock<std::mutex>> lock_all(const Group& first,
                                                            const Group& second);
  static std::vector<AttachedQueues> queues_of(const Group& group);
  static Batch* gather_stops(std::span<ProcessStop> stops, const LeaseOptions& options,
                             Group& together, Group& rest);
  static Batch* gather_starts(std::span<ProcessStop> starts, Batch* batch, Group& together,
                              Group& rest);
  static void drop_changed(Group& group, const Batch& batch, Group& rest);
  static void conclude_stop(ProcessStop& stop, Result<std::vector<QueueReport>> result,
                            const LeaseOptions& options, Group& rest);
  static void conclude_start(ProcessStop& start, const Status& result);
  static void stop_alone(const Group& stops, const LeaseOptions& options);
  static void start_alone(const Group& starts);
  static void swap_by_batch(Batch& batch, Group& stopping, Group& starting,
                            const LeaseOptions& options, Group& stopped_alone);

  const ProcessKey process_;
  const UniqueFd pidfd_;
  const AttachOptions options_;
  LeaseId whole_ = 0;               // the lease that holds all queues; 0: none
  std::map<u32, LeaseId> holders_;  // of single queues

  mutable std::mutex call_mutex_;  // of attachment_
  std::unique_ptr<Attachment> attachment_;
};

// One process of several that are stopped or started together.
struct ProcessStop {
  std::shared_ptr<ControlledProcess> process;
  std::vector<u32> queue_ids;  // none: all
  bool held = false;           // by another lease as well
  // After the stop. Those that were stopped by one call have the same.
  Result<TargetReport> report = TargetReport{};
  DriverCall call;
  Status started = ok();  // after the start
};

}  // namespace gp::mechanism
