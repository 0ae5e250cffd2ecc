#include "mechanism/mechanism.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "mechanism/attachments.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {
namespace {

// Best first: what stops any number of processes with one call, then what stops all queues of one
// and needs no privilege, then from outside, then what costs a call per queue, then what is off
// unless configured.
// clang-format off
constexpr Info kTable[] = {
  {Id::kernel, "kernel", 3, Place::outside, Scope::queue, Cost::call_per_stop, true,
   "an amdkfd with gpreempt's patches (docs/kernel.md); the same user, ptrace or CAP_SYS_NICE",
   "one unmap for any number of processes; the kernel starts the queues if we die or hang"},
  {Id::self_debug, "self-debug", 3, Place::inside, Scope::queue, Cost::call_per_process, true,
   "KFD 1.13 (Linux 6.5), a runtime that calls RUNTIME_ENABLE, gfx9 or later",
   "excludes rocgdb on the process"},
  {Id::debugger, "debugger", 3, Place::outside, Scope::queue, Cost::call_per_process, true,
   "KFD 1.13 (Linux 6.5), a runtime that calls RUNTIME_ENABLE, gfx9 or later, ptrace of the target",
   "excludes rocgdb and strace on the process; the kernel starts the queues if we die"},
  {Id::update_queue, "update-queue", 3, Place::inside, Scope::queue, Cost::call_per_queue, true,
   "any KFD; the ids of the queues",
   "each call unmaps everything on the GPU once"},
  {Id::early_ioctl, "early-ioctl", 3, Place::inside, Scope::queue, Cost::call_per_queue, false,
   "a driver build with PREEMPT_QUEUE (0x87) and RESUME_QUEUE (0x88)",
   "AMD may give these numbers to something else"},
  {Id::criu, "criu", 3, Place::outside, Scope::process, Cost::call_per_process, false,
   "KFD 1.7 (Linux 5.18), CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN, ptrace of the target",
   "the kernel does not start the queues if we die: a guardian process does"},
};
// clang-format on

Error needs_agent(const Info& mechanism, pid_t pid) {
  return Error{EOPNOTSUPP,
               fmt::format("{} works only inside {}", mechanism.name, describe_process(pid)),
               "it needs the agent in the target: start it with `gpreempt run`"};
}

}  // namespace

std::span<const Info> table() { return kTable; }

const Info& info(Id id) {
  return *std::find_if(std::begin(kTable), std::end(kTable),
                       [&](const Info& each) { return each.id == id; });
}

const Info* find(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTable), std::end(kTable),
                                   [&](const Info& each) { return each.name == name; });
  return found == std::end(kTable) ? nullptr : found;
}

Result<std::unique_ptr<Attachment>> attach(Id id, const discover::ProcessKey& target,
                                           const AttachOptions& options) {
  TRY(open_target(target));
  if (info(id).place == Place::inside && target.pid != ::getpid()) {
    return needs_agent(info(id), target.pid);
  }
  switch (id) {
    case Id::kernel: return attach_kernel(target, options);
    case Id::debugger: return attach_debugger(target, options);
    case Id::criu: return attach_criu(target, options);
    default: return attach_inside(id, options);
  }
}

Probe probe(Id id, const discover::ProcessKey& target, const AttachOptions& options) {
  const auto attachment = attach(id, target, options);
  if (!attachment) {
    const Error& error = attachment.error();
    return {false, Error{error.code, error.what, ""}.message(), error.hint};
  }
  return {true, info(id).notes, ""};
}

}  // namespace gp::mechanism
