#include "bench/wake_floor.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <vector>

#include "base/short_slices.h"
#include "base/types.h"
#include "base/unique_fd.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

constexpr int kRounds = 100;
constexpr timespec kIdle = {0, 5'000'000};

u64 now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec);
}

// In the child: says when it woke up.
[[noreturn]] void wake_up_again_and_again(int event, std::atomic<u64>& woken_ns) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ask_for_short_slices();  // as daemon and agent do
  for (u64 count = 0; ::read(event, &count, sizeof count) == sizeof count;) {
    woken_ns.store(now_ns());
  }
  ::_exit(1);
}

}  // namespace

Result<double> wake_floor_us() {
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  void* memory = ::mmap(nullptr, sizeof(std::atomic<u64>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!event || memory == MAP_FAILED) {
    return Error{errno, "measure a wake-up", ""};
  }
  auto& woken_ns = *new (memory) std::atomic<u64>(0);
  const pid_t child = ::fork();
  if (child == 0) {
    wake_up_again_and_again(event.get(), woken_ns);
  }
  std::vector<double> times;
  for (int round = 0; child > 0 && round < kRounds; ++round) {
    ::nanosleep(&kIdle, nullptr);
    const u64 one = 1, begin = now_ns();
    if (::write(event.get(), &one, sizeof one) != sizeof one) {
      break;
    }
    ::nanosleep(&kIdle, nullptr);
    if (const u64 woken = woken_ns.load(); woken > begin) {
      times.push_back(static_cast<double>(woken - begin) / 1000);
    }
  }
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  ::munmap(memory, sizeof(std::atomic<u64>));
  if (const auto median = demo::quantile(times, 0.5)) {
    return *median;
  }
  return Error{ETIMEDOUT, "measure a wake-up", "is the machine very busy?"};
}

}  // namespace gp::bench
