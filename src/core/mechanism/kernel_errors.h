// Why the calls of the kernel series cannot be used, or failed, in words, with what helps.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "kfd/preempt_calls.h"

namespace gp::mechanism {

// EOPNOTSUPP unless the driver has the series, in the version we speak, with these kPreemptCap*.
Status check_preempt_caps(const kfd::Channel& channel, u32 needed);
Error kernel_lease_error(int error);
// A call about a process failed with this -errno.
Error kernel_error(pid_t pid, const char* what, int error);
// The stop of a queue, or of all (kPreemptAllQueues), did.
Error kernel_stop_error(pid_t pid, u32 queue_id, int error);

}  // namespace gp::mechanism
