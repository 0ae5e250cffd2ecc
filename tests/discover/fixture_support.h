// The made-up machine of tests/fixtures/gfx942 as a Recording, for tests that change something.
#pragma once

#include <string>

#include "discover/discover.h"
#include "support/recorded_os.h"

namespace gp::discover {

// Its sysfs, debugfs and /proc, below "/copy".
Recording gfx942_recording();

// Where a recording has them; not the running system.
Paths gfx942_paths();

Snapshot gfx942_snapshot(const Recording& recording, const Sources& sources = {});

}  // namespace gp::discover
