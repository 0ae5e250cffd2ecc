#include "mechanism/controlled_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {
namespace {

Error held_error(pid_t pid, const std::string& which, LeaseId lease) {
  return Error{EBUSY, fmt::format("{} of {} is stopped already", which, describe_process(pid)),
               fmt::format("lease {} holds it: wait for its end or end it", lease)};
}

bool is_readable(int descriptor) {
  pollfd fd{descriptor, POLLIN, 0};
  return descriptor >= 0 && ::poll(&fd, 1, 0) == 1;
}

}  // namespace

bool has_gone(const Attachment& attachment) { return is_readable(attachment.gone_fd()); }

bool is_final(int code) {
  return code == EINVAL || code == ENOENT || code == ESRCH || code == E2BIG;
}

bool ControlledProcess::has_ended() const { return is_readable(pidfd_.get()); }

Status ControlledProcess::reserve(LeaseId lease, std::span<const u32> ids) {
  if (whole_ != 0) {
    return held_error(process_.pid, "every queue", whole_);
  }
  if (ids.empty()) {
    if (!holders_.empty()) {
      const auto& [id, holder] = *holders_.begin();
      return held_error(process_.pid, fmt::format("queue {}", id), holder);
    }
    whole_ = lease;
    return ok();
  }
  for (const u32 id : ids) {
    if (const auto held = holders_.find(id); held != holders_.end()) {
      return held_error(process_.pid, fmt::format("queue {}", id), held->second);
    }
  }
  for (const u32 id : ids) {
    holders_[id] = lease;
  }
  return ok();
}

void ControlledProcess::release(LeaseId lease) {
  if (whole_ == lease) {
    whole_ = 0;
  }
  std::erase_if(holders_, [&](const auto& holder) { return holder.second == lease; });
}

bool ControlledProcess::is_held_besides(LeaseId lease) const {
  return (whole_ != 0 && whole_ != lease) ||
         std::any_of(holders_.begin(), holders_.end(),
                     [&](const auto& holder) { return holder.second != lease; });
}

Status ControlledProcess::attach(std::optional<Mechanism> wanted, bool held) {
  const std::lock_guard lock(call_mutex_);
  return attach_locked(wanted, held, {});
}

Status ControlledProcess::attach_locked(std::optional<Mechanism> wanted, bool held,
                                        MechanismSet not_these) {
  if (attachment_ && has_gone(*attachment_)) {
    attachment_.reset();  // it ran another program then
  }
  if (attachment_ && (!wanted || attachment_->mechanism() == *wanted)) {
    return ok();
  }
  if (attachment_ && held) {
    return Error{EBUSY,
                 fmt::format("queues of {} are held by {}", describe_process(process_.pid),
                             info_of(attachment_->mechanism()).name),
                 "one mechanism at a time per process"};
  }
  attachment_.reset();
  const bool own = process_.pid == ::getpid();
  std::optional<Error> first_error;
  for (const MechanismInfo& candidate : kMechanisms) {
    const Mechanism mechanism = candidate.mechanism;
    const bool reaches = mechanism == Mechanism::kernel || is_inside(mechanism) == own;
    const bool fits = wanted ? mechanism == *wanted : candidate.by_default && reaches;
    if (!fits || not_these.has(mechanism)) {
      continue;
    }
    auto attached = mechanism::attach(mechanism, process_, options_);
    if (attached) {
      attachment_ = std::move(*attached);
      return ok();
    }
    log_debug("{} cannot be used: {}", candidate.name, attached.error().message());
    const bool final = is_final(attached.error().code);
    // That the driver lacks something says less than what the next mechanism says.
    if (!first_error || first_error->code == EOPNOTSUPP) {
      first_error = std::move(attached.error());
    }
    if (final) {
      break;
    }
  }
  return first_error.value_or(Error{
      EOPNOTSUPP, fmt::format("no mechanism can stop queues of {}", describe_process(process_.pid)),
      "see `gpreempt doctor`"});
}

Result<TargetReport> ControlledProcess::stop(const Target& target, const LeaseOptions& options,
                                             bool held, DriverCall& call) {
  const std::lock_guard lock(call_mutex_);
  MechanismSet failed;
  std::optional<Error> first_error;
  for (;;) {
    auto attached = attach_locked(options.mechanism, held, failed);
    if (!attached) {
      return first_error ? std::move(*first_error) : std::move(attached.error());
    }
    auto stopped = stop_locked(target, options.stop, call);
    if (stopped) {
      return stopped;
    }
    log_debug("{} cannot stop queues: {}", info_of(attachment_->mechanism()).name,
              stopped.error().message());
    const bool give_up = options.mechanism || held || is_final(stopped.error().code);
    if (!first_error) {
      first_error = std::move(stopped.error());
    }
    if (give_up) {
      return std::move(*first_error);
    }
    failed.add(attachment_->mechanism());
    attachment_.reset();
  }
}

Result<TargetReport> ControlledProcess::stop_locked(const Target& target,
                                                    const StopOptions& options, DriverCall& call) {
  auto reports = target.queue_ids.empty() ? attachment_->stop_all(options)
                                          : attachment_->stop(target.queue_ids, options);
  call = attachment_->last_stop();
  if (!reports) {
    return std::move(reports.error());
  }
  return TargetReport{process_, attachment_->mechanism(), std::move(*reports)};
}

Status ControlledProcess::start(std::span<const u32> ids) {
  const std::lock_guard lock(call_mutex_);
  return start_locked(ids);
}

Status ControlledProcess::start_locked(std::span<const u32> ids) {
  if (!attachment_ || has_gone(*attachment_)) {
    attachment_.reset();
    return ok();  // what has gone is not stopped
  }
  Status status = ok();
  if (ids.empty()) {
    status = attachment_->start_all();
  } else if (auto reports = attachment_->start(ids); !reports) {
    status = std::move(reports.error());
  }
  if (!status && has_gone(*attachment_)) {
    status = ok();
  }
  if (!status) {
    attachment_.reset();
  }
  return status;
}

Result<std::vector<KnownQueue>> ControlledProcess::queues() {
  const std::lock_guard lock(call_mutex_);
  if (!attachment_) {
    return Error{ESRCH, fmt::format("{} is not attached", describe_process(process_.pid)), ""};
  }
  return attachment_->queues();
}

Status ControlledProcess::detach() {
  const std::lock_guard lock(call_mutex_);
  if (!attachment_) {
    return ok();
  }
  Status status = attachment_->detach();
  attachment_.reset();
  return status;
}

Status ControlledProcess::set_deadline(Clock::time_point deadline) {
  const std::lock_guard lock(call_mutex_);
  return attachment_ ? attachment_->set_deadline(deadline) : ok();
}

UniqueFd ControlledProcess::watch_end() const {
  const std::lock_guard lock(call_mutex_);
  const int fd = attachment_ ? attachment_->gone_fd() : -1;
  return UniqueFd(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

}  // namespace gp::mechanism
