// Attacks on a daemon by a user who is nobody to it: as much of one kind of message as it takes.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gp::bench {

enum class Flood {
  connections,
  status,
  trace,
  suspends,
  marks,
  agents,  // hellos, then queues that come and go
  wake_ups,
  garbage,
};

struct NamedFlood {
  Flood flood;
  const char* name;
};
std::span<const NamedFlood> floods();

// A process of the user `kAttacker` that goes on until it is ended. It runs when no other program
// wants the CPU: what is measured is what the daemon lets it do, not that a machine has few CPUs.
class Attack {
 public:
  static constexpr uid_t kAttacker = 61'999;
  // Whether we may start processes of another user.
  static bool is_possible();

  // Returns when it has begun.
  static Result<Attack> start(Flood flood, const std::string& socket);
  Attack(Attack&& other) noexcept;
  Attack& operator=(Attack&&) = delete;
  ~Attack();  // ends it

  // Messages and connections so far.
  u64 sent() const;

 private:
  Attack(pid_t pid, const u64* sent) : pid_(pid), sent_(sent) {}
  pid_t pid_;
  const u64* sent_;  // shared with the process
};

}  // namespace gp::bench
