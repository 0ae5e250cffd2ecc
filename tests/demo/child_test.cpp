// Programs the demo starts are read, waited for, and never outlive it.
#include "demo/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "demo/scratch_directory.h"
#include "demo/waiter.h"

namespace gp::demo {
namespace {

class ChildTest : public testing::Test {
 protected:
  void SetUp() override {
    auto scratch = ScratchDirectory::create();
    ASSERT_TRUE(scratch);
    scratch_.emplace(std::move(*scratch));
  }
  Child shell(const std::string& script, int end_signal = SIGKILL) const {
    auto child = Child::start({"shell",
                               {"/bin/sh", "-c", script},
                               {{"GREETING", "hello"}},
                               scratch_->file("log"),
                               end_signal});
    EXPECT_TRUE(child);
    return std::move(*child);
  }
  Status wait(Child& child, const std::function<bool()>& done) {
    return Waiter(-1, progress_).wait("the test", {&child}, done);
  }
  static bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }

  std::optional<ScratchDirectory> scratch_;
  Progress progress_;
};

TEST_F(ChildTest, ItIsToldThings) {
  Command command{"reader",
                  {"/bin/sh", "-c", "while read word; do echo heard $word; done; echo end"},
                  {},
                  scratch_->file("log"),
                  SIGKILL};
  command.listens = true;
  auto child = Child::start(command);
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->send("one"));
  ASSERT_TRUE(wait(*child, [&] { return child->said("heard one"); }));
  child->signal(SIGKILL);
  child->end();
  EXPECT_FALSE(child->send("two")) << "nobody hears it, and nobody dies of it";
}

TEST_F(ChildTest, ItsLinesAreRead) {
  Child child = shell("echo $GREETING; echo last; printf unfinished");
  ASSERT_TRUE(wait(child, [&] { return child.status().has_value(); }));
  EXPECT_EQ(child.status(), 0);
  EXPECT_TRUE(child.said("hello"));
  EXPECT_FALSE(child.said("unfinished"));
  EXPECT_EQ(child.last_line(), "last");
}

TEST_F(ChildTest, AFailureIsToldInItsOwnWords) {
  Child child = shell("echo no such GPU >&2; exit 3");
  const Status waited = wait(child, [] { return false; });
  ASSERT_FALSE(waited);
  EXPECT_NE(waited.error().what.find("status 3"), std::string::npos) << waited.error().what;
  EXPECT_NE(waited.error().what.find("no such GPU"), std::string::npos) << waited.error().what;
}

TEST_F(ChildTest, WhatCannotBeExecutedIsAFailure) {
  auto child = Child::start({"ghost", {"/nonexistent"}, {}, scratch_->file("log"), SIGKILL});
  ASSERT_TRUE(child);
  EXPECT_FALSE(wait(*child, [] { return false; }));
}

TEST_F(ChildTest, EndsWithTheObjectThatStandsForIt) {
  pid_t pid = 0;
  {
    const Child child = shell("exec sleep 1000");
    pid = child.pid();
    EXPECT_TRUE(exists(pid));
  }
  EXPECT_FALSE(exists(pid));
}

TEST_F(ChildTest, WhoSeesToItsOwnEndIsGivenTheTime) {
  Child child =
      shell("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done", SIGTERM);
  ASSERT_TRUE(wait(child, [&] { return child.said("ready"); }));
  child.end();
  EXPECT_EQ(child.status(), 0);
  EXPECT_EQ(child.last_line(), "bye");
}

TEST_F(ChildTest, SignalsThatAreBlockedHereAreNotBlockedThere) {
  sigset_t set, before;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, &before);
  Child child = shell("exec sleep 1000", SIGTERM);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  child.end();
  EXPECT_EQ(child.status(), 128 + SIGTERM);
}

TEST_F(ChildTest, AUserWhoWantsToEndIsHeard) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
  Child child = shell("exec sleep 1000");
  const Status waited =
      Waiter(read_end.get(), progress_).wait("the test", {&child}, [] { return false; });
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, EINTR);
}

}  // namespace
}  // namespace gp::demo
