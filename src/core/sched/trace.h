// The last few thousand events of the engine, for `gpreempt trace`: a ring of fixed size that is
// always on. Adding one is a copy of 48 bytes; nothing is allocated after the start.
#pragma once

#include <sys/types.h>

#include <vector>

#include "discover/snapshot.h"
#include "libc/types.h"

namespace gp::sched {

enum class TraceKind : u8 {
  process_joined,
  process_left,
  busy,
  idle,
  stop_decided,
  start_decided,
  process_stopped,   // value: nanoseconds since the decision
  process_started,   // value: nanoseconds since the decision
  mechanism_failed,  // value: errno
  job_failed,        // no way is left; value: errno
  lease_ended,       // by itself
};
const char* name(TraceKind kind);

struct TraceEvent {
  u64 number = 0;  // counts all events, also those that have been overwritten
  u64 time_ns = 0;
  TraceKind kind{};
  WorkClass work_class = WorkClass::normal;  // of the job, at that time
  u64 job = 0;
  pid_t pid = 0;  // 0: of the whole job
  i64 value = 0;
};
static_assert(sizeof(TraceEvent) == 48);

class Trace {
 public:
  static constexpr std::size_t kEvents = 4096;
  Trace() { events_.reserve(kEvents); }
  void add(TraceEvent event) {
    event.number = next_;
    if (events_.size() < kEvents) {
      events_.push_back(event);
    } else {
      events_[next_ % kEvents] = event;
    }
    ++next_;
  }
  // Those that are still there, oldest first, from number `from` on.
  std::vector<TraceEvent> since(u64 from, std::size_t most = kEvents) const;
  u64 end() const { return next_; }  // the number of the next event

 private:
  std::vector<TraceEvent> events_;
  u64 next_ = 0;
};

}  // namespace gp::sched
