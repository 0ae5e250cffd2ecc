#include "mechanism/mechanism.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/log.h"
#include "mechanism/attachments.h"
#include "mechanism/kept_attachment.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {
namespace {

Error needs_agent(const MechanismInfo& mechanism, pid_t pid) {
  return Error{EOPNOTSUPP,
               fmt::format("{} works only inside {}", mechanism.name, describe_process(pid)),
               "it needs the agent in the target: start it with `gpreempt run`"};
}

bool can_be_kept(Mechanism mechanism, const AttachOptions& options) {
  return options.keeper && options.ioctl == kfd::system_ioctl && !options.take_over &&
         (mechanism == Mechanism::debugger || mechanism == Mechanism::criu);
}

Result<std::unique_ptr<Attachment>> attach_here(Mechanism mechanism, const ProcessKey& target,
                                                const AttachOptions& options) {
  switch (mechanism) {
    case Mechanism::kernel: return attach_kernel(target, options);
    case Mechanism::debugger: return attach_debugger(target, options);
    case Mechanism::criu: return attach_criu(target, options);
    default: return attach_inside(mechanism, options);
  }
}

// EPERM: a parent may trace its children where its keeper may not (Yama). Otherwise another attempt
// would only say the same.
bool may_work_here(const Error& error) { return error.code == ECHILD || error.code == EPERM; }

}  // namespace

Result<std::unique_ptr<Attachment>> attach(Mechanism mechanism, const ProcessKey& target,
                                           const AttachOptions& options) {
  TRY(open_target(target));
  const bool is_own = target.pid == ::getpid();
  if (is_inside(mechanism) && (!is_own || mechanism == Mechanism::gate)) {
    return needs_agent(info_of(mechanism), target.pid);
  }
  std::optional<Error> not_kept;
  if (can_be_kept(mechanism, options) && !is_own) {
    auto kept = attach_kept(mechanism, target);
    if (kept || !may_work_here(kept.error())) {
      return kept;
    }
    not_kept = std::move(kept.error());
  }
  auto attached = attach_here(mechanism, target, options);
  if (attached && not_kept) {
    log_warning("process {} stays stopped while we stand still, for it has no keeper: {}",
                target.pid, not_kept->message());
  }
  return attached;
}

Probe probe(Mechanism mechanism, const ProcessKey& target, const AttachOptions& options) {
  const auto attachment = attach(mechanism, target, options);
  if (!attachment) {
    const Error& error = attachment.error();
    return {false, Error{error.code, error.what, ""}.message(), error.hint};
  }
  return {true, info_of(mechanism).notes, ""};
}

}  // namespace gp::mechanism
