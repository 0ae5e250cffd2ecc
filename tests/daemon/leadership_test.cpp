// Threads that take turns at one loop: always one of them leads, what it touches needs no lock, and
// when the loop ends all of them end.
#include "daemon/leadership.h"

#include <gtest/gtest.h>

#include <atomic>

namespace gp::daemon {
namespace {

// A loop of this many turns, in every one of which somebody has something slow to do.
struct Work {
  int left;
  bool prepares;
  int turns = 0;  // touched by whoever leads
  std::atomic<int> leading = 0, slow = 0, most_leading = 0;

  void serve(Leadership::Turn& turn) {
    if (prepares) {
      turn.prepare();
    }
    ++leading;
    while (left > 0) {
      most_leading = std::max(most_leading.load(), leading.load());
      --left;
      ++turns;
      --leading;
      turn.pass_on([&] { ++slow; });
      ++leading;
    }
    --leading;
  }
};

TEST(Leadership, OneLeadsAtATimeAndNoTurnIsLost) {
  Work work{.left = 2000, .prepares = true};
  Leadership leadership;
  leadership.run([&](Leadership::Turn& turn) { work.serve(turn); });
  EXPECT_EQ(work.turns, 2000);
  EXPECT_EQ(work.slow, 2000);
  EXPECT_EQ(work.most_leading, 1);
}

// Who waits for the lead when the loop ends leads once more, and must not start another thread.
TEST(Leadership, EndsWithAllItsThreadsHoweverShortTheLoop) {
  for (int round = 0; round < 300; ++round) {
    Work work{.left = round % 3, .prepares = true};
    Leadership leadership;
    leadership.run([&](Leadership::Turn& turn) { work.serve(turn); });
    EXPECT_EQ(work.left, 0);
  }
}

TEST(Leadership, StartsAThreadOnlyWhenItIsNeeded) {
  Work work{.left = 0, .prepares = false};
  Leadership leadership;
  std::atomic<int> entered = 0;
  leadership.run([&](Leadership::Turn& turn) {
    ++entered;
    work.serve(turn);
  });
  EXPECT_EQ(entered, 1);
}

}  // namespace
}  // namespace gp::daemon
