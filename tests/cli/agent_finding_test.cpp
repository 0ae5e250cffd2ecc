// What `gpreempt doctor --pid` makes of the daemon's words about an agent.
#include "cli/agent_finding.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace gp::cli {
namespace {

using nlohmann::json;

json status_of(const json& process) {
  return {{"jobs", {{{"processes", json::array({process})}}}}};
}

TEST(AgentFinding, ARefusedAgentIsALimitWithItsReason) {
  const auto finding = agent_finding(
      status_of({{"pid", 17}, {"agent", false}, {"agent_refused", "a table of version 9"}}), 17,
      true);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->health, Health::limited);
  EXPECT_EQ(finding->text, "agent refused: a table of version 9");
  EXPECT_FALSE(finding->fix.empty());
}

TEST(AgentFinding, AnAgentThatWorksIsGood) {
  const auto finding = agent_finding(
      status_of({{"pid", 17}, {"agent", true}, {"agent_refused", nullptr}}), 17, true);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->health, Health::good);
}

TEST(AgentFinding, AProcessThatTheDaemonDoesNotKnowHasNone) {
  EXPECT_FALSE(agent_finding(status_of({{"pid", 17}, {"agent", true}}), 18, false));
  EXPECT_FALSE(agent_finding(json(), 17, false));
  EXPECT_FALSE(agent_finding("text", 17, false));
}

TEST(AgentFinding, AProcessWithoutOneIsToldHowToGetIt) {
  const auto finding = agent_finding(
      status_of({{"pid", 17}, {"agent", false}, {"agent_refused", nullptr}}), 17, false);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->health, Health::limited);
  EXPECT_NE(finding->fix.find("gpreempt run"), std::string::npos) << finding->fix;
}

// It looks for the daemon at a socket that is not there, or at another daemon's.
TEST(AgentFinding, AnAgentThatHasNotReachedTheDaemonIsALimit) {
  for (const json& status : {status_of({{"pid", 17}, {"agent", false}, {"agent_refused", nullptr}}),
                             status_of({{"pid", 18}}), json()}) {
    const auto finding = agent_finding(status, 17, true);
    ASSERT_TRUE(finding) << status;
    EXPECT_EQ(finding->health, Health::limited);
    EXPECT_NE(finding->text.find(status.is_null() ? "no daemon answers" : "has not reached"),
              std::string::npos)
        << finding->text;
    EXPECT_NE(finding->fix.find("GPREEMPT_SOCKET"), std::string::npos) << finding->fix;
  }
}

TEST(AgentFinding, AProcessOfOursHasNoAgent) { EXPECT_FALSE(has_agent_loaded(::getpid())); }

}  // namespace
}  // namespace gp::cli
