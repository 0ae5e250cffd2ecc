// An idle offline program gives its hardware slots to online work, and has them back with its next
// packet.
#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

using GpuRoom = DaemonTest;

TEST_F(GpuRoom, IsMadeByAnIdleProgramUntilItHasWork) {
  // More free slots than there can be: they are always short where online work is.
  start_daemon("hqd_reserve = 1024\nmake_room = true\nmake_room_idle = \"50ms\"\n");
  const auto training = offline();
  ASSERT_EQ(training->ask("default"), "ok");
  auto server = online();
  ASSERT_EQ(server->ask("default"), "ok");
  const auto has_made_room = [&] { return job_of(training->pid()).value("made_room", false); };
  ASSERT_TRUE(eventually(has_made_room));
  EXPECT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_EQ(training->ask("default"), "ok") << "its work is not done";
  ASSERT_EQ(training->ask("launch"), "ok");
  EXPECT_TRUE(runs(*training));
  EXPECT_FALSE(has_made_room()) << "it is at work";
  ASSERT_EQ(training->ask("finish"), "ok");
  EXPECT_TRUE(eventually(has_made_room));
  server.reset();
  EXPECT_TRUE(has_state(training->pid(), "running"));
}

}  // namespace
}  // namespace gp::daemon
