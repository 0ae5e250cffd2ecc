// Where gpreemptd listens: the one place that knows, for daemon, command line, C API and agent.
// Libc only.
#pragma once

#include "libc/types.h"

namespace gp::wire {

constexpr u32 kSocketPathBytes = 4096;  // room for any path

// $GPREEMPT_SOCKET if set; else /run/gpreempt/gpreemptd.sock for root and
// $XDG_RUNTIME_DIR/gpreempt/gpreemptd.sock for users. A user without a runtime directory meets the
// system's daemon. Returns false if the path does not fit.
bool socket_path(char* path, u32 bytes);

}  // namespace gp::wire
