// A llama-server is found, looked at and waited for; the ones here are scripts of the test.
#include "demo/llama_server.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "llm/gguf.h"
#include "support/temporary_directory.h"

namespace gp::demo {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class LlamaServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto scratch = ScratchDirectory::create();
    ASSERT_TRUE(scratch);
    scratch_.emplace(std::move(*scratch));
  }
  std::string script(const std::string& text) const {
    const std::string path = folder_.file("llama-server");
    std::ofstream(path) << "#!/bin/sh\n" << text;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  Result<LlamaServer> examine(const std::string& program, const std::string& model = "") {
    return examine_llama_server(program, model, *scratch_, Waiter(-1, progress_));
  }
  // Starts the script and waits until it is ready.
  Status start(const std::string& text, std::chrono::milliseconds patience) {
    LlamaServer server;
    server.program = script(text);
    server.model = "/models/large.gguf";
    server.patience = patience;
    const std::string socket = scratch_->file("llama.sock");
    auto child = Child::start(
        {"llama-server", words_of(server, socket), {}, scratch_->file("log"), SIGKILL});
    EXPECT_TRUE(child);
    return wait_until_ready(server, *child, socket, {}, Waiter(-1, progress_));
  }

  const TemporaryDirectory folder_;
  std::optional<ScratchDirectory> scratch_;
  Progress progress_;
};

constexpr char kGood[] = R"sh(
case $1 in
--version) echo "version: 0.7.0 (build 1)" >&2 ;;
--list-devices) echo "Available devices:"; echo "  ROCm0: AMD Instinct MI210 (64 GiB)" ;;
esac
)sh";

TEST_F(LlamaServerTest, IsFoundInThePath) {
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (folder_.path() + ":/nowhere").c_str(), 1);
  const auto missing = find_llama_server("");
  const std::string program = script("exit 0");
  const auto found = find_llama_server("");
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, program);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_NE(missing.error().hint.find("libggml0-backend-hip"), std::string::npos);
}

TEST_F(LlamaServerTest, ThatIsNamedMustBeAProgram) {
  EXPECT_TRUE(find_llama_server(script("exit 0")));
  EXPECT_FALSE(find_llama_server(folder_.path()));
  EXPECT_FALSE(find_llama_server(folder_.file("missing")));
  fs::permissions(folder_.file("llama-server"), fs::perms::owner_read);
  EXPECT_FALSE(find_llama_server(folder_.file("llama-server")));
}

TEST_F(LlamaServerTest, OnAGpuIsTakenWithASmallModelUnlessOneIsNamed) {
  const auto server = examine(script(kGood));
  ASSERT_TRUE(server) << server.error().message();
  EXPECT_EQ(server->version, "0.7.0 (build 1)");
  EXPECT_TRUE(llm::check_is_gguf(server->model));
  EXPECT_EQ(examine(script(kGood), "/models/large.gguf")->model, "/models/large.gguf");
}

TEST_F(LlamaServerTest, ForCpusAloneIsRefusedAndThePackageNamed) {
  const auto server = examine(script("echo 'Available devices:'; echo '  (none)'"));
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ENOTSUP);
  EXPECT_NE(server.error().hint.find("libggml0-backend-hip"), std::string::npos);
}

TEST_F(LlamaServerTest, ThatCannotEvenSayWhatItIsIsToldInItsWords) {
  const auto server = examine(script("echo 'no libamdhip64' >&2; exit 127"));
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().what.find("no libamdhip64"), std::string::npos) << server.error().what;
}

TEST_F(LlamaServerTest, ThatDiesIsToldInItsWordsWithTheModel) {
  for (const char* status : {"1", "0"}) {
    const Status ready = start("echo 'bad tensors' >&2; exit " + std::string(status), 10s);
    ASSERT_FALSE(ready);
    EXPECT_NE(ready.error().what.find("bad tensors"), std::string::npos) << ready.error().what;
    EXPECT_NE(ready.error().hint.find("/models/large.gguf"), std::string::npos);
  }
}

TEST_F(LlamaServerTest, ThatNeverGetsReadyIsNotWaitedForForEver) {
  const Status ready = start("echo 'still loading' >&2; exec sleep 60", 300ms);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ETIMEDOUT);
}

}  // namespace
}  // namespace gp::demo
