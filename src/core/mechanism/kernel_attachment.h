// The attachment of `kernel`: a process as the session's calls name it.
#pragma once

#include <memory>

#include "mechanism/kernel_session.h"

namespace gp::mechanism {

class KernelAttachment final : public Attachment {
 public:
  KernelAttachment(std::shared_ptr<KernelSession> session, KernelTarget target)
      : session_(std::move(session)), target_(std::move(target)) {}
  KernelAttachment(const KernelAttachment&) = delete;
  KernelAttachment& operator=(const KernelAttachment&) = delete;
  ~KernelAttachment() override;

  Mechanism mechanism() const override { return Mechanism::kernel; }
  Result<std::vector<KnownQueue>> queues() override;
  Result<std::vector<QueueReport>> stop(std::span<const u32> ids,
                                        const StopOptions& options) override;
  Result<std::vector<QueueReport>> stop_all(const StopOptions& options) override;
  Result<std::vector<QueueReport>> start(std::span<const u32> ids) override;
  Status start_all() override;
  Status detach() override;
  int gone_fd() const override { return target_.pidfd(); }
  DriverCall last_stop() const override { return call_; }
  Batch* batch() override { return session_.get(); }

  // ---- for the session ----
  KernelRequest request(std::span<const u32> ids) { return {&target_, ids}; }
  void stopped_with(const DriverCall& call) {
    call_ = call;
    may_hold_ = true;
  }
  // Adds the queues that a stop of all of them has stopped.
  void report_all(std::vector<QueueReport>& reports);

 private:
  std::shared_ptr<KernelSession> session_;
  KernelTarget target_;
  DriverCall call_;
  bool may_hold_ = false;  // something was stopped since start_all()
};

}  // namespace gp::mechanism
