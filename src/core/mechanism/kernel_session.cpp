#include "mechanism/kernel_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/log.h"
#include "libc/clock.h"
#include "mechanism/kernel_attachment.h"
#include "mechanism/kernel_errors.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Our own leases end first: what the kernel ends, it ends without telling us. Also the resolution
// of the kernel's timers.
constexpr auto kMargin = 100ms;
// Set later than need be, so that leases that are extended one after the other are one renewal.
constexpr auto kSlack = 100ms;
// A deadline of the kernel that is later than need be by this much is brought forward.
constexpr auto kTooLate = 1s;
constexpr auto kPatience = 1s;  // with a lease that has to expire
constexpr u32 kNoQueue = abi::kPreemptAllQueues - 1;

// What has gone is not stopped.
bool leaves_stopped(const Status& started) { return !started && started.error().code != ESRCH; }

}  // namespace

std::shared_ptr<KernelSession> make_kernel_session(const AttachOptions& options) {
  return std::make_shared<KernelSession>(options);
}

// The entries of all requests of a call. Requests whose process cannot be named have none.
class KernelSession::Entries {
 public:
  explicit Entries(std::span<const KernelRequest> requests) {
    parts_.reserve(requests.size());
    for (const KernelRequest& request : requests) {
      Part part{entries_.size(), 0, request.target->name()};
      if (part.name) {
        add(request, *part.name);
        part.count = entries_.size() - part.first;
      }
      parts_.push_back(std::move(part));
    }
  }

  std::span<abi::PreemptEntry> all() { return entries_; }
  std::span<const abi::PreemptEntry> of(std::size_t request) const {
    return std::span(entries_).subspan(parts_[request].first, parts_[request].count);
  }
  const Result<KernelTargetName>& name(std::size_t request) const { return parts_[request].name; }

 private:
  struct Part {
    std::size_t first, count;
    Result<KernelTargetName> name;
  };
  void add(const KernelRequest& request, const KernelTargetName& name) {
    abi::PreemptEntry entry = {};
    entry.target = name.target;
    entry.flags = name.flags;
    entry.queue_id = abi::kPreemptAllQueues;
    if (request.queue_ids.empty()) {
      entries_.push_back(entry);
    }
    for (const u32 id : request.queue_ids) {
      entry.queue_id = id;
      entries_.push_back(entry);
    }
  }

  std::vector<abi::PreemptEntry> entries_;
  std::vector<Part> parts_;
};

Status KernelSession::open() {
  const std::lock_guard lock(mutex_);
  if (unsupported_) {
    return *unsupported_;
  }
  if (lease_) {
    return ok();
  }
  UniqueFd device = TRY(open_kfd());
  const kfd::Channel channel{device.get(), ioctl_, ioctl_context_};
  if (Status supported = check_preempt_caps(channel, abi::kPreemptCapQueues); !supported) {
    unsupported_ = supported.error();
    return supported;
  }
  // It holds nothing yet, so that its deadline, which passes at once, ends nothing.
  const int lease = kfd::create_preempt_lease(channel, 1);
  if (lease < 0) {
    return kernel_lease_error(lease);
  }
  device_ = std::move(device);
  lease_.reset(lease);
  renewer_ = std::make_unique<LeaseRenewer>([this](u32 timeout_ms) {
    return kfd::renew_preempt_lease(this->channel(), lease_.get(), timeout_ms);
  });
  return ok();
}

// A release of what is not held changes nothing and says whether we may.
Status KernelSession::check(KernelTarget& target) {
  const KernelRequest request{&target, {}};
  return start_all_of({&request, 1}).front();
}

// ---- the deadline ----

int KernelSession::renew_as_needed(TimePoint soon, TimePoint needed, bool has_expired) {
  const std::lock_guard lock(mutex_);
  return has_expired || renewer_->until() < soon ? renewer_->keep_until(needed) : 0;
}

Status KernelSession::set_deadline(TimePoint deadline) {
  const std::lock_guard lock(mutex_);
  const TimePoint wanted = deadline + kMargin;
  if (!lease_ || (renewer_->until() >= wanted && renewer_->until() < wanted + kTooLate)) {
    return ok();
  }
  if (const int error = renewer_->keep_until(wanted + kSlack); error < 0) {
    return Error{-error, "cannot renew the lease of the driver",
                 "what is stopped will be started by the driver"};
  }
  return ok();
}

// The kernel refuses stops under a lease that has expired, whatever they name.
bool KernelSession::has_expired() const {
  abi::PreemptEntry nothing = {};
  nothing.target = static_cast<u32>(::getpid());
  nothing.queue_id = kNoQueue;
  return kfd::batch_unmap_queues(channel(), lease_.get(), {&nothing, 1}, {}) == -ESTALE;
}

// The lock is held until the lease has expired: a stop would renew it.
void KernelSession::start_everything() {
  const std::lock_guard lock(mutex_);
  const auto give_up = Clock::now() + kPatience;
  const int error = renewer_->keep_until(Clock::now() + 1ms);
  while (!has_expired() && Clock::now() < give_up) {
    std::this_thread::sleep_for(1ms);
  }
  if (error < 0 || !has_expired()) {
    log_error(
        "what could not be started stays stopped until the lease of the driver is not renewed");
  }
}

int KernelSession::call_driver(Entries& stops, Entries& starts, const kfd::PreemptMode& mode) {
  return starts.all().empty()
             ? kfd::batch_unmap_queues(channel(), lease_.get(), stops.all(), mode)
             : kfd::swap_queues(channel(), lease_.get(), stops.all(), starts.all(), mode);
}

// The stop does not wait for the deadline to be moved unless the present one is near: less than
// half of the time that is asked for is left.
int KernelSession::unmap(Entries& stops, Entries& starts, const StopOptions& options,
                         DriverCall& call) {
  const auto now = Clock::now();
  const bool lasts = options.deadline.has_value();
  const auto needed = lasts ? *options.deadline + kMargin : TimePoint::max();
  const auto soon = lasts ? now + (*options.deadline - now) / 2 : TimePoint::max();
  const kfd::PreemptMode mode{options.grace_1k_clocks.value_or(0), 0};
  int result = 0;
  for (int attempt = 0; attempt < 2; attempt++) {
    if (const int error = renew_as_needed(soon, needed, result == -ESTALE); error < 0) {
      return error;
    }
    call.entry_ns = monotonic_ns();
    result = call_driver(stops, starts, mode);
    call.exit_ns = monotonic_ns();
    if (result != -ESTALE) {
      break;  // else: the kernel's clock was ahead of ours
    }
  }
  if (result == 0 && lasts) {
    if (const Status kept = set_deadline(*options.deadline); !kept) {
      log_warning("{}", kept.error().message());
    }
  }
  return result;
}

// ---- stopping ----

namespace {

std::vector<KernelRequest> requests_of(std::span<const AttachedQueues> queues) {
  std::vector<KernelRequest> requests;
  for (const AttachedQueues& each : queues) {
    requests.push_back(static_cast<KernelAttachment*>(each.attachment)->request(each.queue_ids));
  }
  return requests;
}

}  // namespace

Batch::Swapped KernelSession::swap(std::span<const AttachedQueues> stops,
                                   std::span<const AttachedQueues> starts,
                                   const StopOptions& options) {
  DriverCall call;
  Swapped results = swap_all_of(requests_of(stops), requests_of(starts), options, call);
  for (std::size_t i = 0; i < stops.size(); i++) {
    auto* attachment = static_cast<KernelAttachment*>(stops[i].attachment);
    attachment->stopped_with(call);
    if (results.stopped[i] && stops[i].queue_ids.empty() && options.report_queues) {
      attachment->report_all(*results.stopped[i]);
    }
  }
  if (std::any_of(results.started.begin(), results.started.end(), leaves_stopped)) {
    start_everything();
  }
  return results;
}

Result<std::vector<QueueReport>> KernelSession::stop_one(const KernelRequest& request,
                                                         const StopOptions& options,
                                                         DriverCall& call) {
  return std::move(swap_all_of({&request, 1}, {}, options, call).stopped.front());
}

// A call that fails as a whole has changed nothing: the starts are then made without the stops.
Batch::Swapped KernelSession::swap_all_of(std::span<const KernelRequest> stops,
                                          std::span<const KernelRequest> starts,
                                          const StopOptions& options, DriverCall& call) {
  Entries stopping(stops), starting(starts);
  if (stopping.all().empty()) {
    Swapped results{{}, start_all_of(starts)};
    for (std::size_t i = 0; i < stops.size(); i++) {
      results.stopped.emplace_back(stopping.name(i).error());
    }
    return results;
  }
  const int error = unmap(stopping, starting, options, call);
  Swapped results;
  for (std::size_t i = 0; i < stops.size(); i++) {
    if (!stopping.name(i)) {
      results.stopped.emplace_back(stopping.name(i).error());
    } else if (error < 0) {
      results.stopped.emplace_back(
          kernel_error(stops[i].target->pid(), "cannot stop queues of", error));
    } else {
      results.stopped.push_back(conclude_stop(stops[i], stopping, i));
    }
  }
  results.started = error < 0 ? start_all_of(starts) : conclude_starts(starts, starting, 0);
  return results;
}

KernelSession::StopResult KernelSession::conclude_stop(const KernelRequest& request,
                                                       const Entries& entries, std::size_t which) {
  const pid_t pid = request.target->pid();
  std::vector<QueueReport> reports;
  for (const abi::PreemptEntry& entry : entries.of(which)) {
    if (entry.status < 0) {
      undo(request, entries, which);
      return kernel_stop_error(pid, entry.queue_id, entry.status);
    }
    if (entry.queue_id != abi::kPreemptAllQueues) {
      reports.push_back({entry.queue_id, entry.status == abi::kPreemptUnchanged
                                             ? QueueOutcome::already
                                             : QueueOutcome::done});
    }
  }
  // Named by pid, and it has ended: whoever has the pid now must not be stopped.
  if ((entries.of(which).front().flags & abi::kPreemptTargetFd) == 0 && request.target->ended()) {
    undo(request, entries, which);
    return kernel_error(pid, "cannot stop queues of", -ESRCH);
  }
  return reports;
}

// What this call has stopped of the process runs again. A hold can stand although an error was
// reported: on another GPU, or because the hardware did not follow.
void KernelSession::undo(const KernelRequest& request, const Entries& entries, std::size_t which) {
  std::vector<abi::PreemptEntry> held;
  for (abi::PreemptEntry entry : entries.of(which)) {
    if (entry.status != abi::kPreemptUnchanged && entry.status != -EPERM &&
        entry.status != -ENOENT) {
      entry.status = 0;
      held.push_back(entry);
    }
  }
  if (held.empty()) {
    return;
  }
  if (const int error = kfd::fast_remap_queues(channel(), lease_.get(), held); error < 0) {
    log_warning("{}",
                kernel_error(request.target->pid(), "cannot start queues of", error).message());
    start_everything();
  }
}

// ---- starting ----

Status KernelSession::start_one(const KernelRequest& request) {
  Status result = std::move(start_all_of({&request, 1}).front());
  if (leaves_stopped(result)) {
    start_everything();
  }
  return result;
}

std::vector<Status> KernelSession::start_all_of(std::span<const KernelRequest> requests) {
  Entries entries(requests);
  const int error =
      entries.all().empty() ? 0 : kfd::fast_remap_queues(channel(), lease_.get(), entries.all());
  return conclude_starts(requests, entries, error);
}

std::vector<Status> KernelSession::conclude_starts(std::span<const KernelRequest> requests,
                                                   const Entries& entries, int error) {
  std::vector<Status> results;
  for (std::size_t i = 0; i < requests.size(); i++) {
    const pid_t pid = requests[i].target->pid();
    Status result = ok();
    if (!entries.name(i)) {
      result = entries.name(i).error();
    } else if (error < 0) {
      result = kernel_error(pid, "cannot start queues of", error);
    }
    for (const abi::PreemptEntry& entry : entries.of(i)) {
      // A queue that has gone is not stopped.
      if (result && entry.status < 0 && entry.status != -ENOENT) {
        result = kernel_error(pid, "cannot start queues of", entry.status);
      }
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace gp::mechanism
