// Daemon and guardian are killed together, again and again: whoever starts the next one finds an
// offline job that is stopped for online work within a second, and by the best mechanism.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "daemon/daemon_support.h"
#include "daemon/virtual_gpu.h"

namespace gp::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

class GpuBothDie : public DaemonTest {
 protected:
  static constexpr int kRounds = 20;

  void kill_both() {
    const pid_t daemon = daemon_pid();
    const UniqueFd gone(static_cast<int>(::syscall(SYS_pidfd_open, daemon, 0)));
    ASSERT_TRUE(gone);
    guardian().signal(SIGKILL);
    ::kill(daemon, SIGKILL);
    guardian().wait();
    pollfd ready = {gone.get(), POLLIN, 0};
    ::poll(&ready, 1, -1);
  }
  // Nothing better has failed, and nothing is wrong by the daemon's own account.
  void expect_the_best_mechanism(pid_t pid) {
    const nlohmann::json job = job_of(pid);
    EXPECT_EQ(job["mechanism"], "self-debug");
    EXPECT_TRUE(job["processes"][0]["not_better"].empty()) << job.dump(1);
    EXPECT_EQ(job["failures"], 0);
    EXPECT_TRUE(job["error"].is_null()) << job["error"];
  }

  VirtualGpu gpu = VirtualGpu::given();
};

TEST_F(GpuBothDie, WhileAJobIsStoppedTwentyTimesAndItIsStoppedEachTimeByItsAgent) {
  start_daemon();
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_EQ(server->ask("launch"), "ok");
  Clock::duration slowest{};
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    ASSERT_TRUE(has_state(training->pid(), "stopped"));
    ASSERT_NO_FATAL_FAILURE(expect_the_best_mechanism(training->pid()));
    EXPECT_TRUE(stands_still(*training));
    ASSERT_NO_FATAL_FAILURE(kill_both());
    EXPECT_TRUE(runs(*training));
    const auto begin = Clock::now();
    start_daemon();
    ASSERT_TRUE(has_state(training->pid(), "stopped"));
    slowest = std::max<Clock::duration>(slowest, Clock::now() - begin);
    EXPECT_LT(slowest, as_busy_as_this_is(1s));
  }
  std::printf("stopped again at most %.0f ms after a daemon was started\n",
              std::chrono::duration<double, std::milli>(slowest).count());
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
  EXPECT_TRUE(eventually([&] { return !gpu.has_stopped_queues(); }));
}

}  // namespace
}  // namespace gp::daemon
