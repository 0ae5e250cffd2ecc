// Who a process is, as the kernel says at this moment. A pid alone says nothing: a connection
// outlives the process that made it, and pids are used again, by other users, too.
#pragma once

#include <sys/types.h>

#include <compare>
#include <optional>
#include <vector>

#include "base/socket.h"
#include "model/keys.h"
#include "policy/owner.h"

namespace gp::daemon {

// Who pays: a user with all that they have made, or a container, with all who are in it, that root
// has made, apart from root.
struct Payer {
  uid_t uid = 0;
  u64 container = 0;  // a number of its namespace; 0: none

  auto operator<=>(const Payer&) const = default;
};

struct Who {
  ProcessKey key;
  uid_t uid = 0;  // the real one, as for kill(2): its owner
  uid_t effective_uid = 0;
  std::vector<gid_t> groups;  // the effective one and the supplementary ones
  pid_t inner_pid = 0;        // its pid in its own pid namespace
  u64 pid_namespace = 0;      // by its number; 0: may not be read
  bool shares_our_pids = false;
  bool is_at_home = false;  // in the daemon's own pid and user namespaces
  bool is_contained =
      false;  // in a container that root has made without a user namespace around it
  // Who has made the user namespace it lives in, if that is another than ours: all its uids are by
  // grace of that user.
  std::optional<uid_t> namespace_owner;
  Payer payer;

  Owner owner() const;
  // All of a user's subordinate uids are that user.
  uid_t master() const { return namespace_owner && *namespace_owner != 0 ? *namespace_owner : uid; }
};

// ESRCH if there is no such process.
Result<Who> who_is(pid_t pid);
// The process that has made a connection. ESRCH if it has ended, whoever has its pid now; EPERM if
// it is of another user than the one who connected, with whose rights it then speaks.
Result<Who> who_is(const PeerIdentity& peer);

// Whom the cost of a connection is put down to.
Payer payer_of(const PeerIdentity& peer);

}  // namespace gp::daemon
