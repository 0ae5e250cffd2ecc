// `update-queue`, `self-debug` and `early-ioctl` as attachments: when the process to be stopped is
// the one we run in. Inside other processes the agent uses stop/session.h itself.
#include <fmt/format.h>
#include <poll.h>

#include <cerrno>

#include "mechanism/attachments.h"
#include "mechanism/debugger_errors.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"
#include "stop/session.h"

namespace gp::mechanism {
namespace {

// ROCr creates streams' queues with 7 and copy queues with 15; UPDATE_QUEUE must repeat it, and the
// driver tells nobody what it is.
constexpr u32 kUsualPriority = 7, kUsualSdmaPriority = 15;

class InsideAttachment final : public Attachment {
 public:
  InsideAttachment(Mechanism mechanism, UniqueFd kfd, std::unique_ptr<stop::Session> session)
      : mechanism_(mechanism), kfd_(std::move(kfd)), session_(std::move(session)) {}
  InsideAttachment(const InsideAttachment&) = delete;
  InsideAttachment& operator=(const InsideAttachment&) = delete;
  ~InsideAttachment() override { close_session(*session_); }

  Mechanism mechanism() const override { return mechanism_; }

  Result<std::vector<KnownQueue>> queues() override {
    TRY(learn());
    return known_queues(table());
  }

  Result<std::vector<QueueReport>> stop(std::span<const u32> ids,
                                        const StopOptions& options) override {
    TRY(check_queue_ids(pid(), ids));
    const u32 grace = TRY(driver_grace(options));
    for (const u32 id : ids) {
      if (find_by_id(table(), id) == nullptr) {
        TRY(learn());
        break;
      }
    }
    auto reports = reports_for(table(), ids, true);
    u32 failed_id = 0;
    const int error =
        stop_queues(*session_, ids.data(), static_cast<u32>(ids.size()), grace, &failed_id);
    if (error < 0) {
      return error_of_stop(error, failed_id);
    }
    return mark_done(std::move(reports));
  }

  Result<std::vector<QueueReport>> stop_all(const StopOptions& options) override {
    const u32 grace = TRY(driver_grace(options));
    if (!table_is_current()) {
      TRY(learn());
    }
    if (table().count == 0) {
      return no_queues_error(pid());
    }
    auto reports = reports_for(table(), all_ids(table()), true);
    u32 failed_id = 0;
    const int error = stop_all_queues(*session_, grace, &failed_id);
    if (error < 0) {
      return error_of_stop(error, failed_id);
    }
    return reports;
  }

  Result<std::vector<QueueReport>> start(std::span<const u32> ids) override {
    TRY(check_queue_ids(pid(), ids));
    auto reports = reports_for(table(), ids, false);
    const int error = start_queues(*session_, ids.data(), static_cast<u32>(ids.size()));
    if (error < 0) {
      return session_error(pid(), "cannot start queues of", error);
    }
    return reports;
  }

  Status start_all() override {
    const int error = start_all_queues(*session_);
    return error < 0 ? Status(session_error(pid(), "cannot start the queues of", error)) : ok();
  }

  Status detach() override {
    const int error = close_session(*session_);
    return error < 0 ? Status(session_error(pid(), "cannot let go of", error)) : ok();
  }

  int gone_fd() const override { return -1; }
  DriverCall last_stop() const override {
    return {session_->debug.suspend_call.entry_ns, session_->debug.suspend_call.exit_ns};
  }

 private:
  pid_t pid() const { return session_->debug.pid; }
  Error error_of_stop(int error, u32 failed_id) const {
    if (mechanism_ == Mechanism::early_ioctl && error == -ENOTTY) {
      return Error{EOPNOTSUPP, "the driver has no PREEMPT_QUEUE (ioctl 0x87)",
                   "early-ioctl is configured, but this is not a driver for it"};
    }
    return stop_error(pid(), error, failed_id);
  }
  stop::QueueTable& table() { return session_->queues(); }

  // The driver tells self-debug of new queues through its pipe: silence means there are none. The
  // other mechanisms must ask each time.
  bool table_is_current() {
    pollfd events{session_->debug.event_read, POLLIN, 0};
    return mechanism_ == Mechanism::self_debug && table().count > 0 && ::poll(&events, 1, 0) == 0;
  }

  Status learn() {
    if (mechanism_ == Mechanism::self_debug) {
      handle_events(session_->debug);  // empties the pipe; learn_queues() tells what fails
    }
    const int error = learn_queues(*session_);
    if (error == -EOPNOTSUPP) {
      return Error{EOPNOTSUPP, "this driver does not tell which queues the process has",
                   "before KFD 1.13 only an agent knows, which sees them made: `gpreempt run`"};
    }
    if (error < 0) {
      return enable_error(pid(), error);
    }
    for (u32 i = 0; i < table().count; i++) {
      stop::Queue& queue = table().queues[i];
      if (!queue.priority_known) {
        const bool compute =
            queue.type == abi::queue_type_compute || queue.type == abi::queue_type_compute_aql;
        queue.priority = compute ? kUsualPriority : kUsualSdmaPriority;
        queue.priority_known = true;
      }
    }
    return ok();
  }

  const Mechanism mechanism_;
  UniqueFd kfd_;
  std::unique_ptr<stop::Session> session_;
};

}  // namespace

Result<std::unique_ptr<Attachment>> attach_inside(Mechanism mechanism,
                                                  const AttachOptions& options) {
  if (mechanism == Mechanism::early_ioctl && !options.early_ioctl) {
    return Error{EOPNOTSUPP, "early-ioctl is not configured",
                 "only for driver builds with PREEMPT_QUEUE (0x87); on others the number may mean "
                 "something else"};
  }
  UniqueFd kfd = TRY(open_kfd());
  if (mechanism == Mechanism::self_debug) {
    TRY(check_debugger_interface(kfd.get()));
  }
  auto session = std::make_unique<stop::Session>();
  const int error =
      open_session(*session, {kfd.get(), options.ioctl, options.ioctl_context}, mechanism);
  if (error == -EPERM) {
    return Error{EPERM, "queues of this process cannot be stopped", kRuntimeHint};
  }
  if (error < 0) {
    return enable_error(session->debug.pid, error);
  }
  return std::unique_ptr<Attachment>(
      std::make_unique<InsideAttachment>(mechanism, std::move(kfd), std::move(session)));
}

}  // namespace gp::mechanism
