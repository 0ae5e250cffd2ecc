// Pid namespaces: sysfs and debugfs name processes by their pids in the first one.
#pragma once

#include "discover/discover.h"

namespace gp::discover {

// Whether the pids that sysfs shows are ours. They are not in a container that sees the host's
// sysfs: /proc there numbers other processes. (The tree of a virtual GPU is no sysfs and shows pids
// of its own host's namespace.)
bool sysfs_pids_are_ours(kfd::Os& os, const Paths& paths);

// Whether /proc hides processes of others (hidepid): then a process that cannot be read may live.
bool processes_are_hidden(kfd::Os& os, const Paths& paths);

}  // namespace gp::discover
