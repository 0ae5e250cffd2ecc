// A program may learn its class while it runs; its agent is told.
#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

class GpuLaterClass : public DaemonTest {
 protected:
  std::unique_ptr<Program> unclassified() {
    return puppet({{"HSA_TOOLS_LIB", GPREEMPT_LIB_DIR "/libgpreempt_agent.so"}});
  }
  Status call(const Program& program, u32 work_class) {
    wire::SetJob request;
    request.pid = static_cast<u32>(program.pid());
    request.work_class = work_class;
    return TRY(wire::Client::connect(socket())).ask(request);
  }
};

TEST_F(GpuLaterClass, WorkOfAProgramThatIsOnlineFromNowOnIsSeen) {
  start_daemon();
  const auto training = offline(), server = unclassified();
  ASSERT_EQ(server->ask("default"), "ok");
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return job_of(server->pid())["class"] == "normal"; }));
  const Status called = call(*server, wire::code_of(WorkClass::online));
  ASSERT_TRUE(called) << called.error().message();
  ASSERT_EQ(server->ask("launch"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "stopped"));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
}

}  // namespace
}  // namespace gp::daemon
