// The daemon's one loop: waits for descriptors, one timer and work posted by other threads. It
// never wakes up by itself: no event, no CPU time.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "libc/clock.h"
#include "libc/types.h"

namespace gp::daemon {

class Loop {
 public:
  using Handler = std::function<void(u32 events)>;
  using Token = u64;  // never used again: an event of a removed descriptor finds nobody

  static Result<std::unique_ptr<Loop>> create();

  // What strangers can make ready, as often as they like, is `patient`: it comes after the others
  // and in turns, so that there is never more than kSliceNs of it between two looks at those.
  enum class Manner { prompt, patient };
  static constexpr u64 kSliceNs = 1'000'000;

  // `events` as for epoll_ctl(2). The descriptor stays the caller's and is removed before closed.
  Result<Token> add(int fd, u32 events, Handler handler, Manner manner = Manner::prompt);
  void change(Token token, u32 events);
  void remove(Token token);
  // When run_once() returns at the latest, of CLOCK_MONOTONIC; empty: whenever something happens.
  // It may return earlier, once: to put off or disarm the timer would take a system call on the way
  // to a stop, and is left to the moment when it fires.
  void set_timer(std::optional<u64> at_ns);
  // Any thread: `work` runs in the loop's thread.
  void post(std::function<void()> work);

  // Waits for the next batch of events and handles it.
  Status run_once();

 private:
  struct Source {
    int fd;
    Handler handler;
    Manner manner;
    u32 waiting_events = 0;  // of a patient one that waits for its turn
  };
  void run_posted();
  void run_patient();

  UniqueFd epoll_, timer_, posted_signal_;
  std::unordered_map<Token, std::shared_ptr<Source>> sources_;
  std::deque<Token> waiting_;  // the patient ones that are ready
  Token next_ = 1;
  std::optional<u64> timer_at_ns_;  // it is armed for
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
};

}  // namespace gp::daemon
