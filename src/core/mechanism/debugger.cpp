// `debugger`: from outside, without the target's cooperation, through DBG_TRAP and ptrace.
//
// If this process dies in any way, the kernel ends the debug sessions it had and starts their
// queues (kfd_process_notifier_release, kfd_process.c:1225). That is tied to the process alone:
// neither the end of a thread nor closing the device does it, so every way out of here closes the
// session first.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "mechanism/attachments.h"
#include "mechanism/debugger_errors.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"
#include "mechanism/tracer.h"
#include "stop/debug_session.h"

namespace gp::mechanism {
namespace {

class DebuggedProcess final : public Tracee {
 public:
  DebuggedProcess(UniqueFd kfd, pid_t pid, const AttachOptions& options)
      : kfd_(std::move(kfd)),
        pid_(pid),
        channel_{kfd_.get(), options.ioctl, options.ioctl_context} {}

  Status open() override {
    if (const int error = open_debug(session, channel_, pid_)) {
      return enable_error(pid_, error);
    }
    return check_runtime(pid_, session);
  }
  int close() override { return close_debug(session); }
  int event_fd() const override { return session.event_read; }
  int handle_events() override {
    const int error = stop::handle_events(session);
    return error == -EINVAL ? -ESRCH : error;  // the session has ended with the target's program
  }

  stop::DebugSession session;

 private:
  UniqueFd kfd_;
  const pid_t pid_;
  const kfd::Channel channel_;
};

class DebuggerAttachment final : public Attachment {
 public:
  DebuggerAttachment(std::unique_ptr<DebuggedProcess> process, std::unique_ptr<Tracer> tracer)
      : process_(std::move(process)), tracer_(std::move(tracer)), pid_(tracer_->pid()) {}
  DebuggerAttachment(const DebuggerAttachment&) = delete;
  DebuggerAttachment& operator=(const DebuggerAttachment&) = delete;
  ~DebuggerAttachment() override = default;

  Mechanism mechanism() const override { return Mechanism::debugger; }

  Result<std::vector<KnownQueue>> queues() override {
    std::vector<KnownQueue> queues;
    const int error = run([&](stop::DebugSession& session) {
      const int result = refresh(session);
      queues = known_queues(session.queues);
      return result;
    });
    if (error < 0) {
      return session_error(pid_, "cannot list the queues of", error);
    }
    return queues;
  }

  Result<std::vector<QueueReport>> stop(std::span<const u32> ids,
                                        const StopOptions& options) override {
    TRY(check_queue_ids(pid_, ids));
    const u32 grace = TRY(driver_grace(options));
    std::vector<QueueReport> reports;
    u32 bad = 0;
    const int error = run([&](stop::DebugSession& session) {
      reports = reports_for(session.queues, ids, true);
      return stop::stop(session, ids.data(), static_cast<u32>(ids.size()), grace, &bad);
    });
    if (error < 0) {
      return stop_error(pid_, error, bad);
    }
    return mark_done(std::move(reports));
  }

  Result<std::vector<QueueReport>> stop_all(const StopOptions& options) override {
    const u32 grace = TRY(driver_grace(options));
    std::vector<QueueReport> reports;
    u32 bad = 0;
    const int error = run([&](stop::DebugSession& session) {
      // Events that have not been read yet may tell of queues: one more call, but only then.
      if (const int failed = session.queues.count == 0 ? refresh(session) : 0) {
        return failed;
      }
      if (session.queues.count == 0) {
        return -ENODATA;
      }
      reports = reports_for(session.queues, all_ids(session.queues), true);
      return stop::stop_all(session, grace, &bad);
    });
    if (error == -ENODATA) {
      return no_queues_error(pid_);
    }
    if (error < 0) {
      return stop_error(pid_, error, bad);
    }
    return reports;
  }

  Result<std::vector<QueueReport>> start(std::span<const u32> ids) override {
    TRY(check_queue_ids(pid_, ids));
    std::vector<QueueReport> reports;
    const int error = run([&](stop::DebugSession& session) {
      reports = reports_for(session.queues, ids, false);
      return stop::start(session, ids.data(), static_cast<u32>(ids.size()));
    });
    if (error < 0) {
      return session_error(pid_, "cannot start queues of", error);
    }
    return reports;
  }

  Status start_all() override {
    const int error = run([](stop::DebugSession& session) { return stop::start_all(session); });
    return error < 0 ? Status(session_error(pid_, "cannot start the queues of", error)) : ok();
  }

  Status detach() override {
    const int error = run([](stop::DebugSession& session) { return close_debug(session); });
    tracer_.reset();
    return error < 0 && error != -ESRCH
               ? Status(session_error(pid_, "cannot stop debugging", error))
               : ok();
  }

  int gone_fd() const override { return tracer_ ? tracer_->gone_fd() : -1; }
  DriverCall last_stop() const override { return last_stop_; }

 private:
  template <class Work>
  int run(const Work& work) {
    if (!tracer_) {
      return -ESRCH;
    }
    // The session is the tracer thread's: as soon as this request is answered it may stop a queue
    // that has appeared.
    return tracer_->run([&] {
      stop::DebugSession& session = process_->session;
      const int result = work(session);
      last_stop_ = {session.suspend_call.entry_ns, session.suspend_call.exit_ns};
      return result;
    });
  }

  std::unique_ptr<DebuggedProcess> process_;  // outlives the tracer
  std::unique_ptr<Tracer> tracer_;
  const pid_t pid_;
  DriverCall last_stop_;
};

}  // namespace

Result<std::unique_ptr<Attachment>> attach_debugger(const ProcessKey& target,
                                                    const AttachOptions& options) {
  if (target.pid == ::getpid()) {
    return Error{EINVAL, "a process cannot trace itself", "use the mechanism self-debug"};
  }
  UniqueFd kfd = TRY(open_kfd());
  TRY(check_debugger_interface(kfd.get()));
  auto process = std::make_unique<DebuggedProcess>(std::move(kfd), target.pid, options);
  auto tracer = TRY(Tracer::start(target, *process));
  return std::unique_ptr<Attachment>(
      std::make_unique<DebuggerAttachment>(std::move(process), std::move(tracer)));
}

}  // namespace gp::mechanism
