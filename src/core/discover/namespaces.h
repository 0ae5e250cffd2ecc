// Pid namespaces: sysfs and debugfs name processes by their pids in the first one.
#pragma once

#include "discover/discover.h"

namespace gp::discover {

// Whether KFD's files are the running kernel's own: not a virtual GPU's, not a copy.
bool is_kernels_sysfs(Os& os, const Paths& paths);

// Whether the pids that sysfs shows are ours. They are not in a container that sees the host's
// sysfs: /proc there numbers other processes. A virtual GPU shows pids of the namespace it is
// started in, which is taken to be ours.
bool sysfs_pids_are_ours(Os& os, const Paths& paths);

// Whether /proc hides processes of others (hidepid): then a process that cannot be read may live.
bool processes_are_hidden(Os& os, const Paths& paths);

}  // namespace gp::discover
