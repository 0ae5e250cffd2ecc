// Somebody sets the wall clock: no deadline may depend on it.
#include <fmt/format.h>

#include <cstdlib>

#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

using GpuClock = DaemonTest;

TEST_F(GpuClock, StepsChangeNothing) {
  use_environment({{"LD_PRELOAD", fmt::format("{}:{}", std::getenv("LD_PRELOAD"),
                                              GPREEMPT_LIB_DIR "/libstepping_clock.so")}});
  start_daemon("lease = \"400ms\"\n");
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(runs(*training));
  ASSERT_TRUE(has_state(training->pid(), "running"));
  const unsigned before = job_of(training->pid())["preemptions"];
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  // Longer than two leases: it stays stopped because they are extended, not because nobody looks.
  const double stopped_us = job_of(training->pid())["stopped_us_total"];
  EXPECT_TRUE(eventually(
      [&] { return job_of(training->pid())["stopped_us_total"] > stopped_us + 900'000; }));
  EXPECT_EQ(job_of(training->pid())["state"], "stopped");
  EXPECT_EQ(job_of(training->pid())["preemptions"], before + 1);
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
}

}  // namespace
}  // namespace gp::daemon
