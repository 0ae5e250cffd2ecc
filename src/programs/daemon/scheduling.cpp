#include "daemon/scheduling.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string_view>

#include "base/log.h"
#include "daemon/loop.h"
#include "libc/real_time.h"
#include "libc/short_slices.h"

namespace gp::daemon {
namespace {

enum class Wanted { nothing, ordinary, real_time };

struct Limit {
  std::chrono::microseconds longest;
  std::chrono::nanoseconds penalty;
};
Limit limit{};  // set before there are threads

thread_local std::atomic<u64> lost_at_ns{0};  // 0: not lost

// Runs in the thread that has used up its time (setrlimit(2), RLIMIT_RTTIME).
void on_time_used_up(int) {
  leave_real_time();
  lost_at_ns.store(monotonic_ns());
  constexpr std::string_view text =
      "gpreemptd: runs without a pause: not real-time for some seconds\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// The kernel raises the limit by a second each time it was reached.
void set_limit() {
  rlimit now{};
  if (::getrlimit(RLIMIT_RTTIME, &now) == 0) {
    now.rlim_cur = std::min<rlim_t>(limit.longest.count(), now.rlim_max);
    ::setrlimit(RLIMIT_RTTIME, &now);
  }
}

bool penalty_is_over() {
  const u64 lost = lost_at_ns.load();
  return lost != 0 && monotonic_ns() - lost >= static_cast<u64>(limit.penalty.count());
}

void say_once_that_it_is_refused() {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    log_info("not real-time, for want of CAP_SYS_NICE: on busy CPUs a stop may begin ms later");
  }
}

}  // namespace

void limit_real_time(std::chrono::milliseconds longest, std::chrono::milliseconds penalty) {
  limit = {longest, penalty};
  struct sigaction action {};
  action.sa_handler = on_time_used_up;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGXCPU, &action, nullptr);
  set_limit();
}

void schedule_this_thread(bool real_time) {
  thread_local Wanted applied = Wanted::nothing;
  thread_local bool entered = false;
  if (penalty_is_over()) {
    lost_at_ns.store(0);
    set_limit();
    entered = false;
    applied = Wanted::ordinary;
  }
  const Wanted wanted = real_time ? Wanted::real_time : Wanted::ordinary;
  if (wanted == applied) {
    return;
  }
  if (applied == Wanted::nothing) {
    ask_for_short_slices();  // which threads that it starts inherit, and a thread that leaves keeps
  }
  applied = wanted;
  if (entered && !real_time) {
    leave_real_time();
    entered = false;
  } else if (real_time) {
    entered = enter_real_time();
    if (!entered && is_ordinary_thread()) {
      say_once_that_it_is_refused();
    }
  }
}

}  // namespace gp::daemon
