// Watches from outside online processes that have no agent: whether they have work, by the rings of
// their queues (ring_reader.h). Only those are watched for whose work somebody could be stopped;
// while there is none, nothing runs.
//
//   who                     owns                                    when it ends
//   the loop                who is watched                          the threads end by themselves
//   a reader, a thread      the rings of one user's processes       nothing more is known of them
//
// To read a process's memory the kernel takes a lock of that process and may have to wait for its
// page faults, which the process can make last for ever (userfaultfd). So each user has a reader
// of their own, and nobody waits for one: who blocks theirs is watched no more.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/loop.h"
#include "daemon/ring_reader.h"
#include "daemon/who.h"
#include "sched/engine.h"

namespace gp::daemon {

class RingWatch {
 public:
  // Called in the loop's thread, for processes that are watched.
  struct Handlers {
    std::function<void(sched::ProcessId)> on_change;  // activity() is another
    // Nothing is known of it any more: it is watched no longer, or cannot be, until it has other
    // queues; then `why` is not empty.
    std::function<void(sched::ProcessId, const std::string& why)> on_lost;
  };
  // In a test: something else.
  struct Sources {
    std::function<Result<std::vector<discover::Ring>>(pid_t)> find;
    ReadMemory read;
  };
  static Sources of_this_machine();

  struct Pace {
    u64 interval_ns = 1'000'000;
    bool real_time = true;
  };
  // Only the beginning of work is waited for by anybody. A look at a process that is busy, or that
  // has had none for kQuietNs, comes after kSlow intervals, if there is no other.
  static constexpr u64 kQuietNs = 1'000'000'000;
  static constexpr u64 kSlow = 4;

  struct Target {
    sched::ProcessId id = 0;
    ProcessKey key;
    Payer payer;
    bool operator==(const Target&) const = default;
  };

  RingWatch(Loop& loop, Handlers handlers, Sources sources = of_this_machine());
  RingWatch(const RingWatch&) = delete;
  RingWatch& operator=(const RingWatch&) = delete;
  ~RingWatch();

  // These and no others from now on; calls on_lost() for those that are not among them any more.
  void watch(const std::vector<Target>& targets, const Pace& pace);
  // It has other queues than before.
  void queues_changed(sched::ProcessId id);
  // What is known of a process that is watched; empty while nothing is.
  std::optional<sched::Activity> activity(sched::ProcessId id) const;

 private:
  class Reader;

  Loop& loop_;
  std::shared_ptr<Handlers> handlers_;
  const Sources sources_;
  std::map<Payer, std::shared_ptr<Reader>> readers_;
  std::map<sched::ProcessId, std::shared_ptr<Reader>> reader_of_;
};

}  // namespace gp::daemon
