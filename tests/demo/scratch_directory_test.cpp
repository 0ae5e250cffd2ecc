// What the demo keeps while it runs is removed, by itself or, if it was killed, by the next one.
#include "demo/scratch_directory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/temporary_directory.h"

namespace gp::demo {
namespace {

namespace fs = std::filesystem;

class Scratch : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TMPDIR", home_.c_str(), 1); }
  void TearDown() override { ::unsetenv("TMPDIR"); }
  static ScratchDirectory create() {
    auto created = ScratchDirectory::create();
    EXPECT_TRUE(created);
    return std::move(*created);
  }
  // By a process that is killed while it has files in it.
  static void leave_one() {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const ScratchDirectory scratch = create();
      std::ofstream(scratch.file("log")) << "last words";
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(home_), {}); }

  const TemporaryDirectory temporary_;
  const std::string home_ = temporary_.path();
};

TEST_F(Scratch, IsRemovedWithAllThatIsInIt) {
  {
    const ScratchDirectory scratch = create();
    std::ofstream(scratch.file("log")) << "words";
    EXPECT_EQ(entries(), 1);
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(Scratch, WhatAKilledProcessLeftIsRemovedByTheNext) {
  leave_one();
  leave_one();  // which removes the first
  EXPECT_EQ(entries(), 1);
  const ScratchDirectory scratch = create();
  EXPECT_EQ(entries(), 1);
  EXPECT_TRUE(fs::exists(scratch.path()));
  EXPECT_FALSE(fs::exists(scratch.file("log")));
}

TEST_F(Scratch, WhatIsInUseIsLeftAlone) {
  const ScratchDirectory first = create();
  std::ofstream(first.file("log")) << "words";
  const ScratchDirectory second = create();
  EXPECT_TRUE(fs::exists(first.file("log")));
  EXPECT_NE(first.path(), second.path());
}

TEST_F(Scratch, WhatOnlyHasSuchANameIsLeftAlone) {
  fs::create_directory(home_ + "/gpreempt-demo.result");
  std::ofstream(home_ + "/gpreempt-demo.result/report.html") << "somebody's";
  std::ofstream(home_ + "/gpreempt-demo.svg") << "somebody's";
  create();
  EXPECT_TRUE(fs::exists(home_ + "/gpreempt-demo.result/report.html"));
  EXPECT_TRUE(fs::exists(home_ + "/gpreempt-demo.svg"));
}

TEST_F(Scratch, ManyAtTheSameTimeEachHaveOneOfTheirOwn) {
  constexpr int kProcesses = 8, kTimes = 50;
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() == 0) {
      bool kept = true;
      for (int j = 0; j < kTimes; ++j) {
        const auto scratch = ScratchDirectory::create();
        kept &= scratch && static_cast<bool>(std::ofstream(scratch->file("log")) << "words");
      }
      ::_exit(kept ? 0 : 1);
    }
  }
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(entries(), 0);
}

}  // namespace
}  // namespace gp::demo
