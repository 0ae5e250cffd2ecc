#include "mechanism/mechanism.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "mechanism/attachments.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {
namespace {

Error needs_agent(const MechanismInfo& mechanism, pid_t pid) {
  return Error{EOPNOTSUPP,
               fmt::format("{} works only inside {}", mechanism.name, describe_process(pid)),
               "it needs the agent in the target: start it with `gpreempt run`"};
}

}  // namespace

Result<std::unique_ptr<Attachment>> attach(Mechanism mechanism, const ProcessKey& target,
                                           const AttachOptions& options) {
  TRY(open_target(target));
  const bool is_own = target.pid == ::getpid();
  if (is_inside(mechanism) && (!is_own || mechanism == Mechanism::gate)) {
    return needs_agent(info_of(mechanism), target.pid);
  }
  switch (mechanism) {
    case Mechanism::kernel: return attach_kernel(target, options);
    case Mechanism::debugger: return attach_debugger(target, options);
    case Mechanism::criu: return attach_criu(target, options);
    default: return attach_inside(mechanism, options);
  }
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
