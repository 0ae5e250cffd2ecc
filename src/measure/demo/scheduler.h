// The daemon of the demo: one that runs already, or one of our own for as long as the demo takes.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "demo/child.h"
#include "demo/programs.h"
#include "demo/scratch_directory.h"
#include "demo/waiter.h"
#include "libc/types.h"

namespace gp::demo {

class Scheduler {
 public:
  // With these lines as its settings, whatever this machine's configuration says.
  static Result<Scheduler> start(const Programs& programs, const ScratchDirectory& scratch,
                                 const Waiter& waiter, const std::string& settings = "");
  // One that runs already; empty: the usual one.
  static Result<Scheduler> connect(const std::string& socket);

  const std::string& socket() const { return socket_; }  // empty: the usual one
  // The program that we have started, which is the daemon's guardian; 0: none.
  pid_t started_pid() const { return daemon_ ? daemon_->pid() : 0; }
  // Of one that we have not started; empty if it does not tell.
  std::optional<pid_t> daemon_pid() const;
  // How often the job was stopped so far. ENOENT if the daemon does not know it.
  Result<u64> preemptions_of(const std::string& job) const;
  // Its event ring, as wire::Kind::trace has it.
  Result<std::string> trace() const;

 private:
  Scheduler(std::string socket, std::unique_ptr<Child> daemon)
      : socket_(std::move(socket)), daemon_(std::move(daemon)) {}

  std::string socket_;
  std::unique_ptr<Child> daemon_;  // empty: not ours
};

}  // namespace gp::demo
