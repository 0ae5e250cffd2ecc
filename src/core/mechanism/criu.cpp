// `criu`: pauses all queues of a process on all its GPUs, through the calls made for checkpointing
// (CRIU_OP PROCESS_INFO and UNPAUSE, kfd_chardev.c:2615). No debug mode, any driver since KFD 1.7,
// any GPU, and no enabled runtime; but a capability, and two traps:
// - PROCESS_INFO is not idempotent: a second one adds a reason for eviction that one UNPAUSE does
//   not take away, and the process is frozen for ever. `paused_` is the one truth about it.
// - The kernel does not unpause if we die: a helper does (inside/pause_guard).
//
// It acts on the process that opened the file, so the target's own /dev/kfd is needed, and the
// calling thread must ptrace it.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>

#include "kfd/calls.h"
#include "libc/clock.h"
#include "mechanism/attachments.h"
#include "mechanism/pause_guard.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"
#include "mechanism/tracer.h"
#include "stop/queue_ids.h"

namespace gp::mechanism {
namespace {

Error pause_error(pid_t pid, const char* what, int error) {
  const std::string text = fmt::format("{} {}", what, describe_process(pid));
  switch (error) {
    case -EACCES:
    case -EPERM:
      return Error{EPERM, text,
                   "CRIU_OP needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN: run as root"};
    case -ENOTTY: return Error{EOPNOTSUPP, text, "this driver is older than KFD 1.7 (Linux 5.18)"};
    case -ESRCH:
    case -ENODEV: return Error{ESRCH, text, "it has ended, or uses no GPU any more"};
    default: return Error{-error, text, ""};
  }
}

Result<UniqueFd> take_kfd(pid_t pid, int pidfd) {
  const std::vector<int> numbers = TRY(kfd_descriptors(pid));
  if (numbers.empty()) {
    return Error{ENOENT, fmt::format("{} has no GPU queues", describe_process(pid)),
                 "it has not opened /dev/kfd"};
  }
  return copy_descriptor(pid, pidfd, numbers.front());
}

class PausedProcess final : public Tracee {
 public:
  PausedProcess(pid_t pid, UniqueFd pidfd, UniqueFd kfd, const AttachOptions& options)
      : pid_(pid),
        pidfd_(std::move(pidfd)),
        kfd_(std::move(kfd)),
        take_over_(options.take_over),
        channel_{kfd_.get(), options.ioctl, options.ioctl_context} {}

  Status open() override {
    if (const int error = take_over_ ? kfd::criu_unpause(channel_) : 0; error < 0) {
      if (error != -EINVAL) {  // that it is not paused
        return pause_error(pid_, "cannot unpause", error);
      }
    }
    guard_ = TRY(PauseGuard::start(pid_, pidfd_.get(), kfd_.get(), false));
    return ok();
  }
  int close() override {
    const int error = unpause();
    guard_.reset();
    return error;
  }
  int event_fd() const override { return guard_ ? guard_->fd() : -1; }

  // The pause guard has died. Without one nothing may stay paused: start another, or unpause.
  int handle_events() override {
    guard_.reset();
    auto next = PauseGuard::start(pid_, pidfd_.get(), kfd_.get(), paused_);
    if (next) {
      guard_ = std::move(*next);
      return 0;
    }
    unpause();
    return -ESRCH;
  }

  int pause() {
    if (paused_) {
      return 0;
    }
    if (!guard_ || !guard_->pausing()) {
      return -EPIPE;
    }
    call_.entry_ns = monotonic_ns();
    const int error = kfd::criu_pause(channel_);
    call_.exit_ns = monotonic_ns();
    paused_ = error == 0;
    if (!paused_) {
      guard_->running();
    }
    return error;
  }
  int unpause() {
    if (!paused_) {
      return 0;
    }
    const int error = kfd::criu_unpause(channel_);
    // Not paused (any more), or its process has gone: nothing is stopped.
    paused_ = error < 0 && error != -EINVAL && error != -ESRCH && error != -EBADF;
    if (!paused_ && guard_) {
      guard_->running();
    }
    return paused_ ? error : 0;
  }
  bool is_paused() const { return paused_; }
  DriverCall call() const { return call_; }

 private:
  const pid_t pid_;
  UniqueFd pidfd_, kfd_;
  const bool take_over_;
  const kfd::Channel channel_;
  std::optional<PauseGuard> guard_;
  std::atomic<bool> paused_{false};  // set by the tracer thread, also when the target has gone
  DriverCall call_;
};

class CriuAttachment final : public Attachment {
 public:
  CriuAttachment(std::unique_ptr<PausedProcess> process, std::unique_ptr<Tracer> tracer)
      : process_(std::move(process)), tracer_(std::move(tracer)), pid_(tracer_->pid()) {}
  CriuAttachment(const CriuAttachment&) = delete;
  CriuAttachment& operator=(const CriuAttachment&) = delete;
  ~CriuAttachment() override = default;

  Mechanism mechanism() const override { return Mechanism::criu; }

  // sysfs tells the ids, and names processes as the first pid namespace does.
  Result<std::vector<KnownQueue>> queues() override {
    auto ids = std::make_unique<stop::QueueIds>();
    if (const int error = stop::list_queue_ids(pid_, *ids)) {
      return Error{-error, fmt::format("cannot list the queues of {}", describe_process(pid_)), ""};
    }
    std::vector<KnownQueue> queues;
    for (u32 i = 0; i < ids->count; i++) {
      KnownQueue queue;
      queue.queue_id = ids->ids[i];
      queue.stopped = process_->is_paused();
      queues.push_back(queue);
    }
    return queues;
  }

  Result<std::vector<QueueReport>> stop(std::span<const u32>, const StopOptions&) override {
    return Error{EOPNOTSUPP, fmt::format("criu cannot stop single queues of pid {}", pid_),
                 "it stops whole processes: name no queues, or use the debugger"};
  }

  Result<std::vector<QueueReport>> stop_all(const StopOptions& options) override {
    TRY(driver_grace(options));
    auto outcome = QueueOutcome::done;
    const int error = run([&] {
      outcome = process_->is_paused() ? QueueOutcome::already : QueueOutcome::done;
      return process_->pause();
    });
    if (error < 0) {
      return pause_error(pid_, "cannot pause", error);
    }
    last_stop_ = process_->call();
    std::vector<QueueReport> reports;
    if (const auto known = queues()) {
      for (const KnownQueue& queue : *known) {
        reports.push_back({queue.queue_id, outcome});
      }
    }
    return reports;
  }

  Result<std::vector<QueueReport>> start(std::span<const u32> ids) override {
    return stop(ids, {});
  }

  Status start_all() override {
    const int error = run([&] { return process_->unpause(); });
    return error < 0 ? Status(pause_error(pid_, "cannot unpause", error)) : ok();
  }

  Status detach() override {
    Status status = tracer_ ? start_all() : ok();
    tracer_.reset();
    return !status && status.error().code == ESRCH ? ok() : std::move(status);
  }

  int gone_fd() const override { return tracer_ ? tracer_->gone_fd() : -1; }
  DriverCall last_stop() const override { return last_stop_; }

 private:
  int run(const Tracer::Work& work) { return tracer_ ? tracer_->run(work) : -ESRCH; }

  std::unique_ptr<PausedProcess> process_;  // outlives the tracer
  std::unique_ptr<Tracer> tracer_;
  const pid_t pid_;
  DriverCall last_stop_;
};

}  // namespace

Result<std::unique_ptr<Attachment>> attach_criu(const ProcessKey& target,
                                                const AttachOptions& options) {
  if (target.pid == ::getpid()) {
    return Error{EINVAL, "criu is for other processes", "use self-debug or update-queue"};
  }
  UniqueFd pidfd = TRY(open_target(target));
  TRY(open_kfd());  // says what is wrong if there is no device at all
  UniqueFd kfd = TRY(take_kfd(target.pid, pidfd.get()));
  auto process =
      std::make_unique<PausedProcess>(target.pid, std::move(pidfd), std::move(kfd), options);
  auto tracer = TRY(Tracer::start(target, *process));
  return std::unique_ptr<Attachment>(
      std::make_unique<CriuAttachment>(std::move(process), std::move(tracer)));
}

}  // namespace gp::mechanism
