// Starts the pause guard of a process we are about to pause, and talks to it.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gp::mechanism {

class PauseGuard {
 public:
  // `kfd`: the target's own /dev/kfd; `paused`: it is already. Returns when the pause guard
  // watches.
  static Result<PauseGuard> start(pid_t target, int target_pidfd, int kfd, bool paused);

  // Readable when the pause guard has died.
  int fd() const { return control_.get(); }
  // Before each pause. EPIPE: the pause guard has died; there must be no pause.
  Status pausing() const;
  void running() const;  // after each unpause

 private:
  explicit PauseGuard(UniqueFd control) : control_(std::move(control)) {}
  UniqueFd control_;
};

}  // namespace gp::mechanism
