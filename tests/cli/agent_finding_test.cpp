// What `gpreempt doctor --pid` makes of the daemon's words about an agent.
#include "cli/agent_finding.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gp::cli {
namespace {

using nlohmann::json;

json status_of(const json& process) {
  return {{"jobs", {{{"processes", json::array({process})}}}}};
}

TEST(AgentFinding, ARefusedAgentIsALimitWithItsReason) {
  const auto finding = agent_finding(
      status_of({{"pid", 17}, {"agent", false}, {"agent_refused", "a table of version 9"}}), 17);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->health, Health::limited);
  EXPECT_EQ(finding->text, "agent refused: a table of version 9");
  EXPECT_FALSE(finding->fix.empty());
}

TEST(AgentFinding, AnAgentThatWorksIsGood) {
  const auto finding =
      agent_finding(status_of({{"pid", 17}, {"agent", true}, {"agent_refused", nullptr}}), 17);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->health, Health::good);
}

TEST(AgentFinding, AProcessThatTheDaemonDoesNotKnowHasNone) {
  EXPECT_FALSE(agent_finding(status_of({{"pid", 17}, {"agent", true}}), 18));
  EXPECT_FALSE(agent_finding(json(), 17));
  EXPECT_FALSE(agent_finding("text", 17));
}

}  // namespace
}  // namespace gp::cli
