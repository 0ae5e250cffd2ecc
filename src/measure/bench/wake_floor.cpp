#include "bench/wake_floor.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "demo/summary.h"
#include "libc/clock.h"
#include "libc/eventfd.h"
#include "libc/real_time.h"
#include "libc/short_slices.h"
#include "libc/types.h"

namespace gp::bench {
namespace {

// A process that waits for an event and does something about each, until its parent ends it.
class Link {
 public:
  template <class Reaction>
  Link(int event, Reaction react) : pid_(::fork()) {
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ask_for_short_slices();
      enter_real_time();
      for (u64 count = 0; ::read(event, &count, sizeof count) == sizeof count;) {
        react();
      }
      ::_exit(1);
    }
  }
  ~Link() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

 private:
  pid_t pid_;
};

}  // namespace

Result<WakeFloor> measure_two_wake_ups(int times, std::chrono::milliseconds pause) {
  const UniqueFd first(::eventfd(0, EFD_CLOEXEC)), second(::eventfd(0, EFD_CLOEXEC));
  void* memory = ::mmap(nullptr, sizeof(std::atomic<u64>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!first || !second || memory == MAP_FAILED) {
    return Error{errno, "measure a wake-up", ""};
  }
  auto& woken_ns = *new (memory) std::atomic<u64>(0);
  std::vector<double> taken_us;
  {
    const Link as_daemon(first.get(), [&] { signal_event(second.get()); });
    const Link as_agent(second.get(), [&] { woken_ns.store(monotonic_ns()); });
    for (int i = 0; i < times; ++i) {
      std::this_thread::sleep_for(pause);
      const u64 begin = monotonic_ns();
      signal_event(first.get());
      std::this_thread::sleep_for(pause);
      if (const u64 woken = woken_ns.load(); woken > begin) {
        taken_us.push_back(static_cast<double>(woken - begin) / 1000);
      }
    }
  }
  ::munmap(memory, sizeof(std::atomic<u64>));
  const auto p50 = demo::quantile(taken_us, 0.5), p99 = demo::quantile(taken_us, 0.99);
  if (!p50 || !p99) {
    return Error{ETIMEDOUT, "measure a wake-up", "is the machine very busy?"};
  }
  return WakeFloor{*p50, *p99};
}

}  // namespace gp::bench
