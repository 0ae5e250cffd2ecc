// Who a process is, as the kernel says at this moment. A pid alone says nothing: a connection
// outlives the process that made it, and pids are used again, by other users, too.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/socket.h"
#include "model/keys.h"

namespace gp::daemon {

struct Who {
  ProcessKey key;
  uid_t uid = 0;  // the real one, as for kill(2): its owner
  uid_t effective_uid = 0;
  std::vector<gid_t> groups;  // the effective one and the supplementary ones
  pid_t inner_pid = 0;        // its pid in its own pid namespace
  u64 pid_namespace = 0;      // by its number; 0: may not be read
  bool shares_our_pids = false;
  bool is_at_home = false;  // in the daemon's own pid and user namespaces
};

// ESRCH if there is no such process.
Result<Who> who_is(pid_t pid);
// The process that has made a connection. ESRCH if it has ended, whoever has its pid now; EPERM if
// it is of another user than the one who connected, with whose rights it then speaks.
Result<Who> who_is(const PeerIdentity& peer);

}  // namespace gp::daemon
