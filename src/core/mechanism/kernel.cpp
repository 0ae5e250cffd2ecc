// `kernel`: through the calls that the patches in kernel/ add to amdkfd (docs/kernel.md). From
// outside, without the target's cooperation, debug mode or ptrace; any number of processes with one
// unmap and one run list per GPU; queues created meanwhile start stopped.
//
// Who stops dies, hangs or runs another program: the kernel starts everything it had stopped.
#include <fmt/format.h>

#include <cerrno>

#include "base/log.h"
#include "mechanism/attachments.h"
#include "mechanism/kernel_attachment.h"
#include "mechanism/kernel_errors.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"
#include "stop/queue_ids.h"

namespace gp::mechanism {

KernelAttachment::~KernelAttachment() {
  if (const Status detached = detach(); !detached) {
    log_warning("{}", detached.error().message());
  }
}

// sysfs tells the ids, and names processes as the first pid namespace does.
Result<std::vector<KnownQueue>> KernelAttachment::queues() {
  auto ids = std::make_unique<stop::QueueIds>();
  if (const int error = stop::list_queue_ids(target_.pid(), *ids)) {
    return Error{-error,
                 fmt::format("cannot list the queues of {}", describe_process(target_.pid())), ""};
  }
  std::vector<KnownQueue> queues(ids->count);
  for (u32 i = 0; i < ids->count; i++) {
    queues[i].queue_id = ids->ids[i];
    queues[i].stopped = may_hold_;
  }
  return queues;
}

Result<std::vector<QueueReport>> KernelAttachment::stop(std::span<const u32> ids,
                                                        const StopOptions& options) {
  TRY(check_queue_ids(target_.pid(), ids));
  TRY(driver_grace(options));
  may_hold_ = true;
  return session_->stop_one({&target_, ids}, options, call_);
}

Result<std::vector<QueueReport>> KernelAttachment::stop_all(const StopOptions& options) {
  TRY(driver_grace(options));
  may_hold_ = true;
  auto reports = session_->stop_one({&target_, {}}, options, call_);
  if (reports && options.report_queues) {
    report_all(*reports);
  }
  return reports;
}

void KernelAttachment::report_all(std::vector<QueueReport>& reports) {
  if (const auto known = queues()) {
    for (const KnownQueue& queue : *known) {
      reports.push_back({queue.queue_id, QueueOutcome::done});
    }
  }
}

Result<std::vector<QueueReport>> KernelAttachment::start(std::span<const u32> ids) {
  TRY(check_queue_ids(target_.pid(), ids));
  TRY(session_->start_one({&target_, ids}));
  std::vector<QueueReport> reports;
  for (const u32 id : ids) {
    reports.push_back({id, QueueOutcome::done});
  }
  return reports;
}

Status KernelAttachment::start_all() {
  TRY(session_->start_one({&target_, {}}));
  may_hold_ = false;
  return ok();
}

// The lease is the session's and stays: closing it would start what others have stopped.
Status KernelAttachment::detach() {
  Status status = may_hold_ ? start_all() : ok();
  return !status && status.error().code == ESRCH ? ok() : std::move(status);
}

Status check_kernel_support() {
  const UniqueFd device = TRY(open_kfd());
  return check_preempt_caps(kfd::Channel{device.get()}, abi::kPreemptCapQueues);
}

Result<std::unique_ptr<Attachment>> attach_kernel(const ProcessKey& target,
                                                  const AttachOptions& options) {
  std::shared_ptr<KernelSession> session =
      options.kernel_session ? options.kernel_session : make_kernel_session(options);
  TRY(session->open());
  KernelTarget found = TRY(KernelTarget::find(target));
  TRY(session->check(found));
  return std::unique_ptr<Attachment>(
      std::make_unique<KernelAttachment>(std::move(session), std::move(found)));
}

}  // namespace gp::mechanism
