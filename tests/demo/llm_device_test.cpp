// `gpreempt demo --llm`: what is wrong with model or server is told before or when it matters, and
// nothing is left. One test has a real llama-server, if the environment names one
// (tests/demo/llm_for_real): it takes minutes.
#include <nlohmann/json.hpp>

#include "demo/demo_support.h"

namespace gp::demo {
namespace {

using nlohmann::json;

class Llm : public Demo {
 protected:
  // A llama-server that has a GPU, and then does this when it is to serve.
  std::string server_that(const std::string& does) const {
    const std::string path = home_ + "/llama-server";
    std::ofstream(path) << "#!/bin/sh\ncase $1 in\n--version) exit ;;\n"
                        << "--list-devices) echo '  ROCm0: a GPU'; exit ;;\nesac\n"
                        << does << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  Outcome demo(Words more) const {
    more.insert(more.begin(), "--llm");
    return vgpu::server::run(command(more));
  }
  static bool has(const Outcome& outcome, const char* text) {
    return outcome.out.find(text) != std::string::npos;
  }
};

TEST_F(Llm, WithoutALlamaServerNamesThePackages) {
  const Outcome outcome = demo({"--llama-server", home_ + "/missing"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_TRUE(has(outcome, "libggml0-backend-hip")) << outcome.out;
  EXPECT_FALSE(has(outcome, "virtual GPU")) << "it is told before anything is started";
}

TEST_F(Llm, AModelThatIsNoneIsToldAtOnce) {
  std::ofstream(home_ + "/model") << "PK this is a zip file";
  const Outcome outcome =
      demo({"--llama-server", server_that("exit 1"), "--model", home_ + "/model"});
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_TRUE(has(outcome, "is no model")) << outcome.out;
  EXPECT_FALSE(has(outcome, "virtual GPU")) << outcome.out;
}

TEST_F(Llm, ItsOptionsAreForLanguageModelsOnly) {
  for (const char* option : {"--model", "--llama-server"}) {
    const Outcome outcome = vgpu::server::run(command({option, "x"}));
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_TRUE(has(outcome, "--llm")) << outcome.out;
  }
}

TEST_F(Llm, AServerForCpusAloneIsRefused) {
  std::ofstream(server_that("")) << "#!/bin/sh\necho 'Available devices:'; echo '  (none)'\n";
  const Outcome outcome = demo({"--llama-server", home_ + "/llama-server"});
  EXPECT_EQ(outcome.status, 5) << outcome.out;
  EXPECT_TRUE(has(outcome, "libggml0-backend-hip")) << outcome.out;
  fs::remove(home_ + "/llama-server");
  expect_nothing_left();
}

TEST_F(Llm, AServerThatDiesIsToldInItsWords) {
  const Outcome outcome =
      demo({"--llama-server", server_that("echo 'cannot load tensors' >&2; exit 3")});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_TRUE(has(outcome, "cannot load tensors")) << outcome.out;
  expect_nothing_left();
}

TEST_F(Llm, EndedWhileTheServerLoadsItsModelLeavesNothing) {
  Child demo(command({"--llm", "--llama-server", server_that("exec sleep 100")}));
  ASSERT_TRUE(has_begun(demo, "online alone"));
  ASSERT_TRUE(eventually([&] { return runs("sleep"); }));
  demo.signal(SIGINT);
  EXPECT_EQ(demo.wait().status, 1);
  expect_nothing_left();
}

TEST_F(Llm, ARealLlamaServerSaysTheSameBesideATrainer) {
  const char* const server = std::getenv("GPREEMPT_TEST_LLAMA_SERVER");
  if (server == nullptr) {
    GTEST_SKIP() << "takes minutes and a llama-server: tests/demo/llm_for_real";
  }
  const std::string file = home_ + "/phases.json";
  const Outcome outcome = demo({"--llama-server", server, "--json", file});
  // How long things take is not tested; but a criterion that was missed is in the exit status.
  ASSERT_EQ(outcome.status, has(outcome, "FAILED") ? 1 : 0) << outcome.out;
  const json phases = json::parse(std::ifstream(file)).at("phases");
  for (const std::size_t with_server : {0, 2, 3}) {
    EXPECT_EQ(phases[with_server].at("texts_equal"), true) << phases[with_server];
    EXPECT_GT(phases[with_server].at("first_token_ms").at("p50"), 0);
    EXPECT_GT(phases[with_server].at("next_token_ms").at("p50"), 0);
    EXPECT_EQ(phases[with_server].at("requests"), phases[0].at("requests"));
  }
  for (const std::size_t with_trainer : {1, 2, 3}) {
    EXPECT_EQ(phases[with_trainer].at("checksum_ok"), true) << phases[with_trainer];
  }
  EXPECT_GT(phases[3].at("preemptions"), 0);
  fs::remove_all(output());
  expect_nothing_left();
}

}  // namespace
}  // namespace gp::demo
