// The daemon of the demo: one that runs already, or one of our own for as long as the demo takes.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/types.h"
#include "demo/child.h"
#include "demo/places.h"
#include "demo/scratch_directory.h"
#include "demo/stage.h"

namespace gp::demo {

class Scheduler {
 public:
  // With these lines as its settings, whatever this machine's configuration says.
  static Result<Scheduler> start(const Places& places, const ScratchDirectory& scratch,
                                 const Stage& stage, const std::string& settings = "");
  // One that runs already; empty: the usual one.
  static Result<Scheduler> connect(const std::string& socket);

  const std::string& socket() const { return socket_; }  // empty: the usual one
  // How often the job was stopped so far. ENOENT if the daemon does not know it.
  Result<u64> preemptions_of(const std::string& job) const;
  // Its event ring, as control::Kind::trace has it.
  Result<std::string> trace() const;

 private:
  Scheduler(std::string socket, std::unique_ptr<Child> daemon)
      : socket_(std::move(socket)), daemon_(std::move(daemon)) {}

  std::string socket_;
  std::unique_ptr<Child> daemon_;  // empty: not ours
};

}  // namespace gp::demo
