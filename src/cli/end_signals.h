// The signals that end a command which waits: Ctrl-C, SIGTERM, a closed terminal.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace gp::cli {

// From now on those signals do not end this process but make the descriptor readable. Must come
// before other threads are started: they inherit that.
Result<UniqueFd> catch_end_signals();

}  // namespace gp::cli
