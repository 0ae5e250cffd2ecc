// The running system as the commands see it.
#pragma once

#include "discover/discover.h"

namespace gp::cli {

// ENODEV, with what can be done, on a machine without the driver.
Result<discover::Snapshot> live_snapshot(const discover::Sources& sources);

}  // namespace gp::cli
