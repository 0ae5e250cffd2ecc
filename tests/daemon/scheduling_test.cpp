// How gpreemptd's threads are scheduled. Each case in a process of its own: limits and signal
// handlers are those of a process. Skipped where real-time scheduling is not permitted.
#include "daemon/scheduling.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace gp::daemon {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kNotPermitted = 77;

int policy() { return ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK; }

// The exit status of `body` in a child.
template <class Body>
int in_a_process(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class Scheduling : public testing::Test {
 protected:
  void SetUp() override {
    const int status = in_a_process([] {
      schedule_this_thread(true);
      return policy() == SCHED_RR ? 0 : kNotPermitted;
    });
    if (status == kNotPermitted) {
      GTEST_SKIP() << "real-time scheduling is not permitted here";
    }
    ASSERT_EQ(status, 0);
  }
};

TEST_F(Scheduling, AThreadIsRealTimeWhileThatIsWanted) {
  EXPECT_EQ(in_a_process([] {
              schedule_this_thread(false);
              const bool before = policy() == SCHED_OTHER;
              schedule_this_thread(true);
              const bool between = policy() == SCHED_RR;
              schedule_this_thread(false);
              return before && between && policy() == SCHED_OTHER ? 0 : 1;
            }),
            0);
}

TEST_F(Scheduling, WhatARealTimeThreadStartsIsOrdinary) {
  EXPECT_EQ(in_a_process([] {
              schedule_this_thread(true);
              int of_thread = -1;
              std::thread([&] { of_thread = policy(); }).join();
              const int of_process = in_a_process([] { return policy(); });
              return of_thread == SCHED_OTHER && of_process == SCHED_OTHER ? 0 : 1;
            }),
            0);
}

TEST_F(Scheduling, APolicyThatSomebodyChoseStays) {
  EXPECT_EQ(in_a_process([] {
              const sched_param none{};
              ::sched_setscheduler(0, SCHED_BATCH, &none);
              schedule_this_thread(true);
              return policy() == SCHED_BATCH ? 0 : 1;
            }),
            0);
}

// Runs without a pause until it is scheduled so; false if that takes too long.
bool runs_until(int wanted) {
  const auto give_up = steady_clock::now() + 20s;
  while (policy() != wanted && steady_clock::now() < give_up) {
    schedule_this_thread(true);
  }
  return policy() == wanted;
}

TEST_F(Scheduling, AThreadThatDoesNotPauseIsOrdinaryForAWhile) {
  EXPECT_EQ(in_a_process([] {
              limit_real_time(100ms, 300ms);
              schedule_this_thread(true);
              for (int i = 0; i < 3; ++i) {
                if (!runs_until(SCHED_OTHER) || !runs_until(SCHED_RR)) {
                  return 1;
                }
              }
              return 0;
            }),
            0);
}

TEST_F(Scheduling, AThreadThatPausesStaysRealTime) {
  EXPECT_EQ(in_a_process([] {
              limit_real_time(100ms, 20s);
              schedule_this_thread(true);
              for (int i = 0; i < 20; ++i) {
                const auto end = steady_clock::now() + 10ms;
                while (steady_clock::now() < end) {
                }
                std::this_thread::sleep_for(1ms);
              }
              return policy() == SCHED_RR ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace gp::daemon
