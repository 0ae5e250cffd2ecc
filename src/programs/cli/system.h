// The running system as the commands meet it: its queues, its daemon, the signals that end a
// command which waits.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "client/client.h"
#include "discover/discover.h"

namespace gp::cli {

// ENODEV, with what can be done, on a machine without the driver.
Result<discover::Snapshot> live_snapshot(const discover::Sources& sources);

// `socket` empty: the usual one. ENODEV if no daemon is running.
Result<wire::Client> connect_to_daemon(const std::string& socket);

// From now on Ctrl-C, SIGTERM and a closed terminal do not end this process but make the descriptor
// readable. Must come before other threads are started: they inherit that.
Result<UniqueFd> catch_end_signals();

}  // namespace gp::cli
