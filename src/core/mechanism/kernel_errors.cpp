#include "mechanism/kernel_errors.h"

#include <fmt/format.h>

#include <cerrno>

#include "mechanism/target_process.h"

namespace gp::mechanism {

// ENOTTY: a number that the stock driver does not have; EINVAL: AMD's DKMS driver says it that way
// about numbers between its windows.
Status check_preempt_caps(const kfd::Channel& channel, u32 needed) {
  abi::PreemptCapsArgs caps = {};
  const int error = kfd::get_preempt_caps(channel, 0, caps);
  if (error == -ENOTTY || error == -EINVAL) {
    return Error{EOPNOTSUPP, "this driver has no preemption calls",
                 "they come with gpreempt's patches for amdkfd: see docs/kernel.md"};
  }
  if (error < 0) {
    return Error{-error, "cannot ask the driver for its preemption calls", ""};
  }
  if (caps.version < abi::kPreemptVersion) {
    return Error{
        EOPNOTSUPP,
        fmt::format("the driver's preemption calls are too old: version {}, needed is {}",
                    caps.version, abi::kPreemptVersion),
        "install the kernel patches of this release (docs/dkms.md), or gpreempt of theirs"};
  }
  if (caps.version != abi::kPreemptVersion) {
    return Error{EOPNOTSUPP,
                 fmt::format("the driver's preemption calls have version {}, not {}", caps.version,
                             abi::kPreemptVersion),
                 "use the gpreempt and the kernel patches of one release"};
  }
  if ((caps.caps & needed) != needed) {
    return Error{EOPNOTSUPP,
                 fmt::format("the driver lacks preemption calls (it has {:#x}, needed are {:#x})",
                             caps.caps, needed),
                 "use the kernel patches of this release"};
  }
  return ok();
}

Error kernel_error(pid_t pid, const char* what, int error) {
  const std::string text = fmt::format("{} {}", what, describe_process(pid));
  switch (error) {
    case -EPERM:
      return Error{EPERM, text,
                   "it needs CAP_SYS_NICE, or ptrace access to a process that has opened /dev/kfd "
                   "once: run as root or as its user"};
    case -ESRCH: return Error{ESRCH, text, "it has ended, or has not opened /dev/kfd"};
    case -EBADF: return Error{ESRCH, text, "it has ended, or runs another program now"};
    case -ENOTRECOVERABLE:
      return Error{ENOTRECOVERABLE, text,
                   "its waves could not be saved in time and the driver has reset the queue: its "
                   "work is lost, see the kernel log"};
    case -E2BIG:
      return Error{E2BIG, text, "the driver is older than this gpreempt: use those of one release"};
    case -ESTALE: return Error{ESTALE, text, "the driver's lease has run out"};
    case -EOPNOTSUPP:
      return Error{EOPNOTSUPP, text,
                   "the driver saves no waves here (amdgpu.cwsr_enable=0), or does without the "
                   "hardware scheduler (amdgpu.sched_policy=2)"};
    default: return Error{-error, text, ""};
  }
}

Error kernel_lease_error(int error) {
  return Error{-error, "cannot take a lease of the driver",
               error == -ENOSPC ? fmt::format("this process has {} of them, which is the most",
                                              abi::kPreemptMaxLeases)
                                : ""};
}

Error kernel_stop_error(pid_t pid, u32 queue_id, int error) {
  const bool all = queue_id == abi::kPreemptAllQueues;
  switch (error) {
    case -ENOENT:
      return all ? Error{ENOENT, fmt::format("{} has no GPU queues", describe_process(pid)), ""}
                 : Error{ENOENT, fmt::format("{} has no queue {}", describe_process(pid), queue_id),
                         fmt::format("see `gpreempt queues --pid {}`", pid)};
    case -EIO:
      return Error{EIO,
                   fmt::format("the driver could not stop queues of {}; they run again",
                               describe_process(pid)),
                   "the GPU did not give them up in time: see the kernel log"};
    default: return kernel_error(pid, "cannot stop queues of", error);
  }
}

}  // namespace gp::mechanism
