// Why a process cannot be debugged, in words, with what helps.
#pragma once

#include "base/result.h"
#include "stop/debug_session.h"

namespace gp::mechanism {

// EOPNOTSUPP if the driver has no debugger interface, or a GPU must not be debugged.
Status check_debugger_interface(int kfd);
// PTRACE_SEIZE failed with this errno.
Error seize_error(pid_t pid, int code);
// DBG_TRAP ENABLE failed with this -errno.
Error enable_error(pid_t pid, int error);
// ENABLE succeeded: can queues be stopped?
Status check_runtime(pid_t pid, const stop::DebugSession& session);

}  // namespace gp::mechanism
