// What all attachments of `kernel` in one Controller share: the device, and one lease of the kernel
// under which everything is held. One lease, because one driver call acts under one.
//
// The kernel's lease is a dead man's switch behind our own leases: it has the latest deadline of
// them and a margin, and is renewed for that as long as the driver wants it (LeaseRenewer).
// Whatever becomes of us (death, SIGSTOP, a deadlock), the kernel starts everything when it passes.
// It is moved when something is stopped or a lease of ours is extended. A start that fails has it
// pass at once: what is still stopped then would stay so for as long as others are stopped under
// the same lease.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kfd/preempt_calls.h"
#include "mechanism/kernel_target.h"
#include "mechanism/lease_renewer.h"
#include "mechanism/mechanism.h"

namespace gp::mechanism {

// Queues of one process in a call of the driver.
struct KernelRequest {
  KernelTarget* target = nullptr;
  std::span<const u32> queue_ids;  // none: all, those to come too
};

class KernelSession final : public Batch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit KernelSession(const AttachOptions& options)
      : ioctl_(options.ioctl), ioctl_context_(options.ioctl_context) {}

  // Opens the device and takes the lease, the first time. EOPNOTSUPP: the driver is not patched.
  Status open();
  // Whether we may stop the process; nothing is changed.
  Status check(KernelTarget& target);

  // ---- Batch: the attachments are those of `kernel` with this session ----
  Swapped swap(std::span<const AttachedQueues> stops, std::span<const AttachedQueues> starts,
               const StopOptions& options) override;
  Status set_deadline(TimePoint deadline) override;

  // The same for one process.
  Result<std::vector<QueueReport>> stop_one(const KernelRequest& request,
                                            const StopOptions& options, DriverCall& call);
  Status start_one(const KernelRequest& request);

 private:
  using StopResult = Result<std::vector<QueueReport>>;
  class Entries;

  kfd::Channel channel() const { return {device_.get(), ioctl_, ioctl_context_}; }
  // Stops, and starts in the same call; what could not be started is for the caller to see to.
  Swapped swap_all_of(std::span<const KernelRequest> stops, std::span<const KernelRequest> starts,
                      const StopOptions& options, DriverCall& call);
  std::vector<Status> start_all_of(std::span<const KernelRequest> requests);
  std::vector<Status> conclude_starts(std::span<const KernelRequest> requests,
                                      const Entries& entries, int error);
  int call_driver(Entries& stops, Entries& starts, const kfd::PreemptMode& mode);
  int unmap(Entries& stops, Entries& starts, const StopOptions& options, DriverCall& call);
  StopResult conclude_stop(const KernelRequest& request, const Entries& entries, std::size_t which);
  void undo(const KernelRequest& request, const Entries& entries, std::size_t which);
  int renew_as_needed(TimePoint soon, TimePoint needed, bool has_expired);
  bool has_expired() const;
  void start_everything();

  const kfd::IoctlFunction ioctl_;
  void* const ioctl_context_;
  std::mutex mutex_;  // of all below, not held across a stop or start
  UniqueFd device_, lease_;
  std::optional<Error> unsupported_;       // the driver will not change while we look
  std::unique_ptr<LeaseRenewer> renewer_;  // of lease_, once that is there
};

}  // namespace gp::mechanism
