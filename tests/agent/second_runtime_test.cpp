// A program that shuts the runtime down and initialises it again has an agent both times.
#include "agent/agent_support.h"

namespace gp::agent {
namespace {

using SecondRuntime = AgentTest;

TEST_F(SecondRuntime, in_one_process_is_served_like_the_first) {
  listen();
  Puppet program(socket(), {}, GPREEMPT_BIN_DIR "/two_runtimes_program");
  for (const char* runtime : {"first", "second"}) {
    SCOPED_TRACE(runtime);
    ASSERT_EQ(program.line(), "queue");
    Connection agent = accept();
    EXPECT_EQ(agent.hello().pid, static_cast<u32>(program.pid()));
    agent.welcome(wire::code_of(WorkClass::offline), true);
    agent.expect<wire::QueueCreated>(wire::Kind::queue_created);
    const wire::Done stopped = agent.stop();
    ASSERT_EQ(stopped.error, 0);
    EXPECT_GE(stopped.queues, 1u);
    ASSERT_EQ(agent.start().error, 0);
    EXPECT_EQ(program.ask("go on"), "completed");
    EXPECT_TRUE(agent.ended());
    EXPECT_EQ(program.line(), "shut down");
    program.say("go on");
  }
  EXPECT_EQ(program.wait(), 0);
}

}  // namespace
}  // namespace gp::agent
