// Requests of the command line and of programs that use the C API. A user governs their own
// processes; more only by grant.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "daemon/driver_view.h"
#include "daemon/peers.h"
#include "daemon/processes.h"
#include "daemon/trace_answers.h"
#include "sched/engine.h"

namespace gp::daemon {

class Clients {
 public:
  Clients(Loop& loop, sched::Engine& engine, Processes& processes)
      : engine_(engine), processes_(processes), traces_(loop, engine.trace()) {}

  void set_peers(Peers& peers) {
    peers_ = &peers;
    traces_.set_peers(peers);
  }
  void set_driver(const DriverView& driver) { driver_ = &driver; }
  bool on_message(Peer& peer, const wire::Header& header, std::span<const u8> message);
  void on_closed(PeerId id);
  // Answers those who wait for a stop; to be called after each settle() of the engine. True: it has
  // to settle once more.
  bool settle();

 private:
  struct Waiting {
    PeerId peer;
    u32 sequence;
    struct Part {
      sched::ProcessId process;
      u64 failures_before;
    };
    std::vector<Part> parts;  // all that are to stop; the process that was named comes first
  };
  // Of a request: what to answer, as an errno and a text; empty: not yet.
  std::optional<Error> outcome(const Waiting& waiting) const;
  void release(const Waiting& waiting);
  struct Mark {
    PeerId peer;
    sched::ProcessId process;
  };

  // The process that has made the connection. Without a system call once it is known: online work
  // waits for its mark.
  Result<sched::ProcessId> sender(Peer& peer);
  // The process a message means: 0 is the sender; others must be theirs to govern.
  Result<sched::ProcessId> target(Peer& peer, u32 pid);
  Status mark(Peer& peer, std::span<const u8> message, bool begin);
  Status set_job(Peer& peer, std::span<const u8> message);
  // What is held with a process: its job, and all parts of those who are in that.
  std::vector<sched::ProcessId> all_with(sched::ProcessId process) const;
  // True: the answer comes later.
  Result<bool> suspend(Peer& peer, std::span<const u8> message);
  Status resume(Peer& peer, std::span<const u8> message);

  sched::Engine& engine_;
  Processes& processes_;
  Peers* peers_ = nullptr;
  const DriverView* driver_ = nullptr;
  TraceAnswers traces_;
  std::vector<Waiting> waiting_;
  std::vector<Mark> marks_;  // a connection that ends takes its marks along
};

}  // namespace gp::daemon
