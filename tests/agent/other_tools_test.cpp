// The agent shares HSA_TOOLS_LIB with other tools, in any order.
#include <fstream>
#include <iterator>
#include <ostream>

#include "agent/agent_support.h"

namespace gp::agent {
namespace {

constexpr char kAgent[] = GPREEMPT_LIB_DIR "/libgpreempt_agent.so";
constexpr char kOther[] = GPREEMPT_LIB_DIR "/libother_hsa_tool.so";

struct Order {
  const char* name;
  const char *first, *second;
};
std::ostream& operator<<(std::ostream& out, const Order& order) { return out << order.name; }

class OtherTools : public AgentTest, public testing::WithParamInterface<Order> {
 protected:
  std::string file() const { return directory() + "/other_tool"; }
  std::string said() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_P(OtherTools, are_loaded_beside_the_agent_and_both_do_their_work) {
  listen();
  std::string tools = GetParam().first;
  tools += " ";
  tools += GetParam().second;
  Puppet puppet(socket(), {{"HSA_TOOLS_LIB", tools}, {"OTHER_TOOL_FILE", file()}});
  ASSERT_EQ(puppet.ask("launch"), "ok");
  Connection agent = accept();
  agent.welcome(wire::code_of(WorkClass::offline), false);
  ASSERT_EQ(puppet.ask("progress"), "ok");
  EXPECT_TRUE(said().starts_with("load\nqueue\n")) << said();
  ASSERT_EQ(agent.stop().error, 0);
  EXPECT_TRUE(puppet.stands_still());
  ASSERT_EQ(agent.start().error, 0);
  ASSERT_EQ(puppet.ask("progress"), "ok");
  ASSERT_EQ(puppet.ask("finish"), "ok");
  puppet.say("exit");
  EXPECT_EQ(puppet.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Orders, OtherTools,
                         testing::Values(Order{"agent_first", kAgent, kOther},
                                         Order{"agent_last", kOther, kAgent}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gp::agent
