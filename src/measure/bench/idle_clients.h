// Processes that have said hello to a daemon and do nothing more, as idle GPU programs do.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace gp::bench {

class IdleClients {
 public:
  // Returns when all of them have been welcomed.
  static Result<IdleClients> start(unsigned count, const std::string& socket);
  IdleClients(IdleClients&&) = default;
  IdleClients& operator=(IdleClients&&) = delete;
  ~IdleClients();  // ends them

 private:
  IdleClients() = default;
  std::vector<pid_t> pids_;
};

}  // namespace gp::bench
