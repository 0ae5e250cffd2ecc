// Answers to those who ask for the trace. To write out four thousand events takes milliseconds, and
// somebody may need a stop meanwhile: each turn of the loop writes a part.
#pragma once

#include <deque>
#include <string>

#include "daemon/loop.h"
#include "daemon/peers.h"
#include "sched/trace.h"

namespace gp::daemon {

class TraceAnswers {
 public:
  static constexpr std::size_t kEventsPerTurn = 64;  // less than 100 us

  TraceAnswers(Loop& loop, const sched::Trace& trace) : loop_(loop), trace_(trace) {}
  TraceAnswers(const TraceAnswers&) = delete;
  TraceAnswers& operator=(const TraceAnswers&) = delete;

  void set_peers(Peers& peers) { peers_ = &peers; }
  // With the events there are now. One that is overwritten before its turn comes is left out: the
  // numbers of the events show that.
  // False: the peer has not got its last one yet.
  bool begin(PeerId peer, u32 sequence);
  void forget(PeerId peer);

 private:
  struct Answer {
    PeerId peer;
    u32 sequence;
    u64 next, end;     // events by their numbers
    std::string text;  // that is not sent yet
  };
  void post();
  void go_on();
  void write_part(Answer& answer);

  Loop& loop_;
  const sched::Trace& trace_;
  Peers* peers_ = nullptr;
  std::deque<Answer> answers_;  // the first is being given
  bool posted_ = false;         // go_on() will be called
};

}  // namespace gp::daemon
