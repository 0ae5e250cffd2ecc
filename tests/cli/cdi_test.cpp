// gpreempt cdi: what it writes is what container runtimes take; tests/containers has one take it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/server_support.h"
#include "support/temporary_directory.h"

namespace gp::cli {
namespace {

using nlohmann::json;
using vgpu::server::Outcome;
using vgpu::server::Words;

class Cdi : public testing::Test {
 protected:
  static Outcome cdi(Words words) {
    words.insert(words.begin(), {std::string(GPREEMPT_BIN_DIR) + "/gpreempt", "cdi"});
    return vgpu::server::run(words);
  }
  const TemporaryDirectory temporary_;
  const std::string socket_ = temporary_.path() + "/my.sock";
};

TEST_F(Cdi, EachClassIsADevice) {
  const json document = json::parse(cdi({"--socket", socket_}).out);
  EXPECT_EQ(document["kind"], "gpreempt.io/class");
  std::map<std::string, json> edits;
  for (const json& device : document["devices"]) {
    edits[device["name"]] = device["containerEdits"];
  }
  ASSERT_EQ(edits.size(), 4U);
  for (const char* work_class : {"online", "offline", "normal"}) {
    EXPECT_EQ(edits.at(work_class)["env"], json({std::string("GPREEMPT_CLASS=") + work_class}));
  }
  EXPECT_EQ(edits.at("streams")["env"], json({"GPREEMPT_STREAM_CLASSES=1"}));
}

TEST_F(Cdi, AllHaveTheAgentAndTheSocketsDirectoryToReadOnly) {
  const json edits = json::parse(cdi({"--socket", socket_}).out)["containerEdits"];
  EXPECT_EQ(edits["env"], json({"HSA_TOOLS_LIB=/opt/gpreempt/libgpreempt_agent.so",
                                "GPREEMPT_SOCKET=/run/gpreempt/my.sock"}));
  std::map<std::string, std::string> mounted;
  for (const json& mount : edits["mounts"]) {
    mounted[mount["containerPath"]] = mount["hostPath"];
    EXPECT_EQ(mount["options"], json({"ro", "nosuid", "nodev", "bind"}));
  }
  EXPECT_EQ(mounted.at("/run/gpreempt"), temporary_.path());
  EXPECT_TRUE(mounted.at("/opt/gpreempt/libgpreempt_agent.so").starts_with("/"));
}

// Runtimes refuse a file with a field that they do not know, and with it all of its devices.
TEST_F(Cdi, HasNoFieldThatItsVersionDoesNotHave) {
  const json document = json::parse(cdi({"--socket", socket_}).out);
  EXPECT_EQ(document["cdiVersion"], "0.3.0");
  const auto has_only = [](const json& object, const std::vector<std::string>& names) {
    for (const auto& [name, value] : object.items()) {
      EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    }
  };
  has_only(document, {"cdiVersion", "kind", "devices", "containerEdits"});
  has_only(document["containerEdits"], {"env", "mounts"});
  for (const json& device : document["devices"]) {
    has_only(device, {"name", "containerEdits"});
    has_only(device["containerEdits"], {"env"});
  }
  for (const json& mount : document["containerEdits"]["mounts"]) {
    has_only(mount, {"hostPath", "containerPath", "options"});
  }
}

TEST_F(Cdi, GoesToAFile) {
  const std::string file = temporary_.path() + "/gpreempt.json";
  const Outcome outcome = cdi({"--socket", socket_, "--output", file});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("gpreempt.io/class=offline"), std::string::npos) << outcome.out;
  EXPECT_EQ(vgpu::server::run({"cat", file}).out, cdi({"--socket", socket_}).out);
}

TEST_F(Cdi, SaysWhatIsWrong) {
  const Outcome nowhere = cdi({"--socket", "/nonexistent/gpreemptd.sock"});
  EXPECT_EQ(nowhere.status, 0);
  EXPECT_NE(nowhere.err.find("/nonexistent"), std::string::npos) << nowhere.err;
  const Outcome relative = cdi({"--socket", "gpreemptd.sock"});
  EXPECT_NE(relative.status, 0);
  EXPECT_NE(relative.err.find("absolute"), std::string::npos) << relative.err;
  const Outcome unwritable = cdi({"--socket", socket_, "--output", "/nonexistent/gpreempt.json"});
  EXPECT_NE(unwritable.status, 0);
  EXPECT_NE(unwritable.err.find("/etc/cdi"), std::string::npos) << unwritable.err;
}

}  // namespace
}  // namespace gp::cli
