// The guardian is the daemon's parent: small, without threads, locks or allocation once it runs. It
// waits for three things:
//
//   the daemon dies         a new one is started, which starts what the old one left stopped
//   a deadline is overdue   the daemon is stuck or stopped: it is killed, once, upon which the
//                           kernel starts the queues it had stopped, agents start theirs, and as
//                           above; one that hangs in the driver ends when the driver lets it
//   SIGTERM, SIGHUP, ...    passed on to the daemon
//
// If the guardian itself dies, the daemon sees the end of `lifetime` and stops in good order.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/board.h"

namespace gp::daemon {

// What the daemon gets from its guardian.
struct Ward {
  Board* board = nullptr;
  UniqueFd lifetime;       // readable when the guardian has gone
  UniqueFd board_changed;  // an eventfd, to be written when the first deadline is set
};

// Runs `daemon` in a child until it ends by itself; returns its exit status. A daemon that dies at
// once, again and again, is given up.
Result<int> guard(const std::function<int(Ward)>& daemon);

}  // namespace gp::daemon
