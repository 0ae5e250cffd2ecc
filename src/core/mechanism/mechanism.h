// One mechanism at work on one process: the interface all of them share (model/mechanism.h lists
// them). How each works and what can go wrong is in its own file.
//
//   probe   can it be used on this process, and if not, why and what would make it usable
//   attach  get ready: everything that is slow or can be refused happens here
//   stop    queues off the hardware, waves saved; one driver call per process where there is one
//   start   queues back
//   detach  all queues running, every trace undone; also what the destructor does
//
// Where one driver call can stop queues of several processes, their attachments share a Batch.
//
// An Attachment knows what it has stopped and never stops a queue twice: the driver would unmap and
// map the whole node once more for nothing. It is for one caller at a time; users of this layer
// hold leases (controller.h).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "discover/snapshot.h"
#include "kfd/channel.h"
#include "model/mechanism.h"

namespace gp::mechanism {

struct Probe {
  bool usable = false;
  std::string reason;  // why not; or a remark
  std::string hint;    // what would make it usable
};

enum class QueueOutcome { done, already, invalid, failed };
struct QueueReport {
  u32 queue_id = 0;
  QueueOutcome outcome = QueueOutcome::done;
};

// What the driver says of the queues of an attached process: ids joined with ring addresses.
struct KnownQueue {
  u32 queue_id = 0;
  u32 gpu_id = 0;
  discover::QueueType type = discover::QueueType::unknown;
  u64 ring_base = 0;
  u64 ring_bytes = 0;
  bool stopped = false;
};

struct StopOptions {
  // Time running waves get to end by themselves, in 1024 GPU clocks; the hardware takes 1..255.
  // Empty: the driver's default.
  std::optional<u32> grace_1k_clocks;
  // Until when the caller has started the queues again. A driver, or a keeper, that keeps deadlines
  // is told, and starts them a moment later if the caller has not. Empty: none.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // Without it the reports of stop_all() may lack queues: who does not look at them saves the time.
  bool report_queues = true;
};

// CLOCK_MONOTONIC when the driver was entered and left by the last stop.
struct DriverCall {
  u64 entry_ns = 0;
  u64 exit_ns = 0;
};

class Batch;

class Attachment {
 public:
  virtual ~Attachment() = default;
  virtual Mechanism mechanism() const = 0;
  virtual Result<std::vector<KnownQueue>> queues() = 0;
  // Each id once, at most 1024. An Error means nothing is stopped that was not before: a partial
  // failure is undone, and the error names the queues.
  virtual Result<std::vector<QueueReport>> stop(std::span<const u32> queue_ids,
                                                const StopOptions& options) = 0;
  // All queues, and as soon as they appear those created before start_all().
  virtual Result<std::vector<QueueReport>> stop_all(const StopOptions& options) = 0;
  virtual Result<std::vector<QueueReport>> start(std::span<const u32> queue_ids) = 0;
  virtual Status start_all() = 0;
  virtual Status detach() = 0;
  // Readable once the process, or the program it ran when attached, has gone: every call then fails
  // with ESRCH. -1: it cannot go without us.
  virtual int gone_fd() const = 0;
  virtual DriverCall last_stop() const = 0;
  // Another deadline for what is stopped, where the attachment keeps one (StopOptions::deadline).
  // ETIMEDOUT: it has passed, and the queues run.
  virtual Status set_deadline(std::chrono::steady_clock::time_point) { return ok(); }
  // Attachments that have the same can be stopped, and started, by one driver call. nullptr: each
  // needs a call of its own.
  virtual Batch* batch() { return nullptr; }
};

// Queues of one attached process. No ids: all of them, and those created before they are started.
struct AttachedQueues {
  Attachment* attachment = nullptr;
  std::span<const u32> queue_ids;
};

class Batch {
 public:
  virtual ~Batch() = default;
  // Stops the ones and starts the others, with one driver call. One result for each, in their
  // order, as from the attachment's own stop() and start(): one that fails does not keep the rest
  // from being stopped or started.
  struct Swapped {
    std::vector<Result<std::vector<QueueReport>>> stopped;
    std::vector<Status> started;
  };
  virtual Swapped swap(std::span<const AttachedQueues> stops,
                       std::span<const AttachedQueues> starts, const StopOptions& options) = 0;
  // The deadline of everything that is stopped, those of other calls included.
  virtual Status set_deadline(std::chrono::steady_clock::time_point deadline) = 0;
};

class KernelSession;

struct AttachOptions {
  bool early_ioctl = false;  // the configuration says that the driver has PREEMPT_QUEUE (0x87)
  // `debugger` and `criu` work in a process of their own, which keeps the deadlines of stops though
  // this one stands still. Where none can be had they work here.
  bool keeper = false;
  // `criu`: whoever had paused the target is known to be dead, and so may its pause guard be. If it
  // is paused still, it is unpaused first.
  bool take_over = false;
  // `kernel`: what its attachments share, so that they can be stopped together; made by
  // make_kernel_session(). Empty: each attachment has one of its own.
  std::shared_ptr<KernelSession> kernel_session = nullptr;
  // Every driver call goes through this: tests and benchmarks watch, or fail, what is called.
  kfd::IoctlFunction ioctl = kfd::system_ioctl;
  void* ioctl_context = nullptr;
};

// Whether the driver has what `kernel` needs, without a look at any process. EOPNOTSUPP: it has
// not.
Status check_kernel_support();
std::shared_ptr<KernelSession> make_kernel_session(const AttachOptions& options);

// Tries it out where nothing less tells: a debugger is attached and detached again.
Probe probe(Mechanism mechanism, const ProcessKey& target, const AttachOptions& options = {});
Result<std::unique_ptr<Attachment>> attach(Mechanism mechanism, const ProcessKey& target,
                                           const AttachOptions& options = {});

}  // namespace gp::mechanism
