// Tells systemd how we are, sd_notify(3): datagrams to $NOTIFY_SOCKET. Nothing happens without it.
#pragma once

#include <optional>
#include <string_view>

#include "libc/types.h"

namespace gp::daemon {

// "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...".
void notify_manager(std::string_view state);

// How often the manager wants to hear WATCHDOG=1 (half its limit); empty if it does not.
std::optional<u64> watchdog_interval_ns();

}  // namespace gp::daemon
