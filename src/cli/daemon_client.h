// The daemon, for commands that cannot do without it.
#pragma once

#include <string>

#include "base/result.h"
#include "control/client.h"

namespace gp::cli {

// `socket` empty: the usual one. ENODEV if no daemon is running.
Result<control::Client> connect_to_daemon(const std::string& socket);

}  // namespace gp::cli
