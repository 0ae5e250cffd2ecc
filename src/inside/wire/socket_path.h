// Where gpreemptd listens: the one place that knows, for daemon, command line, C API and agent.
// Libc only.
#pragma once

#include "libc/types.h"

namespace gp::wire {

constexpr u32 kSocketPathBytes = 4096;  // room for any path

// $GPREEMPT_SOCKET if set; else /run/gpreempt/gpreemptd.sock for root and
// $XDG_RUNTIME_DIR/gpreempt/gpreemptd.sock for users. A user without a runtime directory, or
// without a daemon of their own, meets the system's. Returns false if the path does not fit.
bool socket_path(char* path, u32 bytes);

// Where the system's daemon listens, for users too whose own runtime directory has none: nullptr
// for those who have named a socket, or look there anyway.
const char* second_socket_path();

}  // namespace gp::wire
