// Deaths, standstills and failures by chance, several at once, over everybody who takes part. After
// each round all are well again, and then: nothing stays stopped, results are bit for bit those of
// an undisturbed run, offline work is stopped for online work.
//
// GPREEMPT_SEED chooses another life, GPREEMPT_ROUNDS makes it longer (`make soak` does both). What
// a failed round did is printed.
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "daemon/daemon_support.h"
#include "daemon/virtual_gpu.h"

namespace gp::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

u64 setting(const char* name, u64 otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class GpuRandom : public DaemonTest {
 protected:
  enum Act {
    kill_daemon,
    kill_guardian,
    kill_both,
    freeze_daemon,
    freeze_both,
    kill_server,
    freeze_server,
    kill_training,
    freeze_training,
    slow_driver,
    failing_driver,
    request,
    passing_program,
    kill_gpu,
    kActs
  };
  static constexpr const char* kNames[] = {
      "kill daemon",    "kill guardian", "kill both",       "freeze daemon",   "freeze both",
      "kill server",    "freeze server", "kill training",   "freeze training", "slow driver",
      "failing driver", "request",       "passing program", "kill gpu"};
  static constexpr const char* kConfig = "lease = \"500ms\"\nretry = \"200ms\"\n";

  void SetUp() override {
    DaemonTest::SetUp();
    gpu.emplace(VirtualGpu::own());
    use_environment(gpu->environment());
    start_daemon(kConfig);
    start_programs();
  }
  void TearDown() override {
    server.reset();
    training.reset();
    DaemonTest::TearDown();
    gpu.reset();
  }

  u64 chance(u64 below) { return std::uniform_int_distribution<u64>(0, below - 1)(random); }
  void pause() { std::this_thread::sleep_for(std::chrono::microseconds(chance(40'000))); }

  // The training works all the time; its first results are those of nobody's disturbance.
  void start_programs() {
    if (!training) {
      training = offline();
      ASSERT_EQ(training->ask("work"), "ok");
      working = false;
    }
    if (!server) {
      server = online();
      busy = false;
    }
  }
  void work() {
    if (!working) {
      working = training->say("work");
    }
  }

  void freeze(pid_t pid) {
    ::kill(pid, SIGSTOP);
    frozen.push_back(pid);
  }
  void thaw() {
    for (const pid_t pid : frozen) {
      ::kill(pid, SIGCONT);
    }
    frozen.clear();
  }
  void kill_the_guardian() {
    guardian().signal(SIGKILL);
    guardian_dies = true;
  }
  void kill_program(std::unique_ptr<Program>& program) {
    std::erase(frozen, program->pid());
    program.reset();
  }

  void act(Act what) {
    done += fmt::format(" {};", kNames[what]);
    switch (what) {
      case kill_daemon: ::kill(daemon, SIGKILL); break;
      case kill_guardian: kill_the_guardian(); break;
      case kill_both:
        kill_the_guardian();
        ::kill(daemon, SIGKILL);
        break;
      case freeze_daemon: freeze(daemon); break;
      case freeze_both:
        freeze(guardian().pid());
        freeze(daemon);
        break;
      case kill_server: kill_program(server); break;
      case freeze_server: freeze(server->pid()); break;
      case kill_training: kill_program(training); break;
      case freeze_training: freeze(training->pid()); break;
      case slow_driver: gpu->inject("unmap-delay=100ms"); break;
      case failing_driver: gpu->inject("suspend-fails=1"); break;
      case request:
        asked += server->say(busy ? "finish" : "launch") ? 1 : 0;
        busy = !busy;
        break;
      case passing_program: passing = online(); break;
      case kill_gpu: gpu->kill(); break;
      case kActs: break;
    }
  }
  bool is_possible(Act what) const {
    switch (what) {
      case kill_server:
      case freeze_server:
      case request: return server != nullptr && !gpu_died;
      case kill_training:
      case freeze_training: return training != nullptr;
      case passing_program:
      case slow_driver:
      case failing_driver: return !gpu_died;
      case kill_gpu: return !gpu_died;
      default: return true;
    }
  }

  void disturb() {
    done.clear();
    daemon = daemon_pid();
    work();
    for (u64 i = 1 + chance(4); i > 0; --i) {
      const Act what = static_cast<Act>(chance(kActs));
      if (is_possible(what)) {
        act(what);
        gpu_died = gpu_died || what == kill_gpu;
      }
      pause();
    }
  }

  // Everybody who has gone is replaced, everybody else goes on.
  void heal() {
    thaw();
    passing.reset();
    if (gpu_died) {
      training.reset();
      server.reset();
      ASSERT_TRUE(gpu->restart());
      gpu_died = false;
    }
    ASSERT_TRUE(gpu->inject("clear"));
    ASSERT_NO_FATAL_FAILURE(replace_daemon());
    if (!server) {
      asked = 0;
    }
    for (; asked > 0; --asked) {
      ASSERT_EQ(server->line(), "ok");
    }
    if (server && busy) {
      ASSERT_EQ(server->ask("finish"), "ok");
      busy = false;
    }
    ASSERT_NO_FATAL_FAILURE(start_programs());
  }
  // Without its guardian a daemon ends in good order; with one it is replaced.
  void replace_daemon() {
    // On a busy machine that takes a while.
    ASSERT_TRUE(!guardian_dies || eventually([&] { return guardian().ended(); }));
    guardian_dies = false;
    if (guardian().ended()) {
      std::ifstream(socket() + ".lock") >> daemon;  // perhaps the one before was replaced
      const UniqueFd gone(static_cast<int>(::syscall(SYS_pidfd_open, daemon, 0)));
      pollfd ready = {gone.get(), POLLIN, 0};
      ASSERT_TRUE(!gone || ::poll(&ready, 1, 30'000) == 1) << "it outlives its guardian";
      guardian().wait();
      start_daemon(kConfig);
    }
  }

  // A stop takes milliseconds when all are alive, and a mechanism that has failed is given a second
  // chance after 200 ms (`retry`). More than a few seconds is somebody who waits for what is lost.
  static Clock::duration longest_stop() { return as_busy_as_this_is(5s); }

  void check() {
    EXPECT_TRUE(eventually([&] { return !gpu->has_stopped_queues(); }));
    if (std::exchange(working, false)) {
      EXPECT_EQ(training->line(), "ok") << "the results";
    }
    ASSERT_TRUE(has_state(training->pid(), "running"));
    ASSERT_EQ(server->ask("launch"), "ok");
    const auto begin = Clock::now();
    EXPECT_TRUE(has_state(training->pid(), "stopped"));
    const auto took = Clock::now() - begin;
    EXPECT_LT(took, longest_stop()) << "everybody is alive";
    slowest = std::max(slowest, took);
    EXPECT_TRUE(runs(*server));
    ASSERT_EQ(server->ask("finish"), "ok");
    EXPECT_TRUE(has_state(training->pid(), "running"));
  }

  std::mt19937_64 random;
  std::optional<VirtualGpu> gpu;
  std::unique_ptr<Program> training, server, passing;
  pid_t daemon = 0;
  std::vector<pid_t> frozen;
  bool working = false, busy = false, gpu_died = false, guardian_dies = false;
  unsigned asked = 0;  // what the server has not answered yet
  std::string done;
  Clock::duration slowest{};
};

TEST_F(GpuRandom, DeathsStandstillsAndFailuresLeaveNothingStoppedAndNothingWrong) {
  const u64 rounds = setting("GPREEMPT_ROUNDS", 4);
  const u64 seed = setting("GPREEMPT_SEED", 1);
  std::printf("GPREEMPT_SEED=%lu GPREEMPT_ROUNDS=%lu\n", seed, rounds);
  random.seed(seed);
  for (u64 round = 0; round < rounds && !HasFailure(); ++round) {
    disturb();
    SCOPED_TRACE(fmt::format("seed {}, round {}:{}", seed, round, done));
    ASSERT_NO_FATAL_FAILURE(heal());
    ASSERT_NO_FATAL_FAILURE(check());
  }
  std::printf("%lu rounds; the slowest stop for online work was seen after %.0f ms\n", rounds,
              std::chrono::duration<double, std::milli>(slowest).count());
}

}  // namespace
}  // namespace gp::daemon
