#include "mechanism/debugger_errors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"
#include "os/os.h"

namespace gp::mechanism {
namespace {

std::string permission_hint() {
  const auto scope = system_os().read_file("/proc/sys/kernel/yama/ptrace_scope");
  if (scope && !scope->empty() && scope->front() != '0') {
    return fmt::format(
        "kernel.yama.ptrace_scope is {}: run as root or with CAP_SYS_PTRACE, or set it to 0",
        scope->front());
  }
  return "it belongs to another user or another user namespace: run as root or with CAP_SYS_PTRACE";
}

// "gfx_target_version 90402" of a node's properties; 0 for a CPU.
u32 gfx_target_version(const std::string& properties) {
  constexpr std::string_view kName = "gfx_target_version ";
  const auto at = properties.find(kName);
  return at == std::string::npos
             ? 0
             : static_cast<u32>(std::strtoul(properties.c_str() + at + kName.size(), nullptr, 10));
}

// gfx11.0.0 to 11.0.3: while a process is debugged, half of the CUs are off for its queues
// (kfd_debug.c:299, a workaround for context save).
Status check_gpus() {
  constexpr u32 kFirst = 110000, kLast = 110003;
  Os& os = system_os();
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes";
  const auto names = os.list_directory(nodes);
  if (!names) {
    return ok();  // what the driver thinks of its GPUs shows when debugging is enabled
  }
  for (const std::string& name : *names) {
    const auto properties = os.read_file(fmt::format("{}/{}/properties", nodes, name));
    const u32 version = properties ? gfx_target_version(*properties) : 0;
    if (version >= kFirst && version <= kLast) {
      return Error{EOPNOTSUPP,
                   fmt::format("GPU node {} (gfx {}) must not be debugged", name, version),
                   "half of its CUs would be off meanwhile: use update-queue (`gpreempt run`)"};
    }
  }
  return ok();
}

}  // namespace

Status check_debugger_interface(int kfd) {
  kfd::Version version;
  if (const int error = kfd::get_version({kfd}, version)) {
    return Error{-error, "cannot ask for the version of /dev/kfd", ""};
  }
  if (version.major == abi::kKfdMajor && version.minor < kfd::kDebuggerMinor) {
    return Error{EOPNOTSUPP,
                 fmt::format("KFD {}.{} has no debugger interface", version.major, version.minor),
                 "it came with 1.13 (Linux 6.5): use update-queue (`gpreempt run`)"};
  }
  return check_gpus();
}

Error seize_error(pid_t pid, int code) {
  const std::string what = fmt::format("cannot ptrace {}", describe_process(pid));
  if (code != EPERM) {
    return Error{code, what, ""};
  }
  const auto state = process_state(pid);
  if (!state || state->state == 'Z') {
    return Error{ESRCH, what, "it has ended"};
  }
  if (state->tracer != 0) {
    return Error{EBUSY, fmt::format("{} is being traced already", describe_process(pid)),
                 fmt::format("by {}: one debugger at a time", describe_process(state->tracer))};
  }
  return Error{code, what, permission_hint()};
}

Error enable_error(pid_t pid, int error) {
  const std::string what = fmt::format("cannot debug the queues of {}", describe_process(pid));
  switch (error) {
    case -EALREADY:
      return Error{EBUSY, fmt::format("another debugger is attached to {}", describe_process(pid)),
                   "rocgdb, a core dump or an agent in the process: one at a time"};
    case -ENOTTY: return Error{EOPNOTSUPP, what, "this driver is older than KFD 1.13 (Linux 6.5)"};
    case -ENODEV: return Error{EOPNOTSUPP, what, "a GPU older than gfx9 is visible to it"};
    case -EBUSY:
      return Error{EBUSY, what, "one of its queues uses GWS, which this GPU cannot debug"};
    case -EINVAL:
      return Error{EOPNOTSUPP, what, "amdgpu.sched_policy=2 (no hardware scheduler) is set"};
    case -ESRCH: return Error{ESRCH, what, "it does not use /dev/kfd, or has ended"};
    default: return Error{-error, what, ""};
  }
}

Status check_runtime(pid_t pid, const stop::DebugSession& session) {
  const std::string what = fmt::format("queues of {} cannot be stopped", describe_process(pid));
  switch (session.runtime.runtime_state) {
    case abi::runtime_enabled: return ok();
    case abi::runtime_disabled:
      // Without queues it may still be enabled; afterwards never (kfd_chardev.c:2793, EEXIST).
      return session.queues.count == 0 ? ok() : Error{EPERM, what, kRuntimeHint};
    case abi::runtime_enabled_busy:
      return Error{EBUSY, what,
                   "this GPU can debug one process at a time (gfx908 and older, RDNA1 and 2)"};
    default: return Error{EIO, what, "the driver could not switch debugging on: kernel log"};
  }
}

}  // namespace gp::mechanism
