#include "daemon/scheduling.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "base/log.h"
#include "base/real_time.h"
#include "base/short_slices.h"

namespace gp::daemon {
namespace {

constexpr rlim_t kLongestRunUs = 500'000;

enum class Wanted { nothing, ordinary, real_time };

// Called in the thread that has used up its time (setrlimit(2), RLIMIT_RTTIME).
void on_time_used_up(int) {
  leave_real_time();
  constexpr std::string_view text =
      "gpreemptd: ran for half a second without a pause: no longer real-time\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void say_once_that_it_is_refused() {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    log_info("not real-time, for want of CAP_SYS_NICE: on busy CPUs a stop may begin ms later");
  }
}

}  // namespace

void limit_real_time() {
  struct sigaction action {};
  action.sa_handler = on_time_used_up;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGXCPU, &action, nullptr);
  rlimit limit{};
  if (::getrlimit(RLIMIT_RTTIME, &limit) == 0 && limit.rlim_cur > kLongestRunUs) {
    limit.rlim_cur = kLongestRunUs;
    ::setrlimit(RLIMIT_RTTIME, &limit);
  }
}

void schedule_this_thread(bool real_time) {
  thread_local Wanted applied = Wanted::nothing;
  thread_local bool entered = false;
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
