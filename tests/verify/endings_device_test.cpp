// However `gpreempt verify` ends, nothing of it is left, and a program that was there before has
// never been touched.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "verify/verify_support.h"

namespace gp::verify {
namespace {

using vgpu::server::Child;

// A device with somebody else's offline program on it.
class Endings : public Verify {
 protected:
  void SetUp() override {
    Verify::SetUp();
    ASSERT_EQ(vgpu::server::run(vgpu({"start", "shared"})).status, 0);
    const std::string input = home_ + "/bystander";
    ASSERT_EQ(::mkfifo(input.c_str(), 0600), 0);
    told_.reset(::open(input.c_str(), O_RDWR | O_CLOEXEC));
    bystander_.emplace(Words{"sh", "-c", "exec \"$@\" < " + input, "sh", GPREEMPT_BIN_DIR "/vgpu",
                             "exec", "shared", "--", "env", "GPREEMPT_CLASS=offline",
                             GPREEMPT_BIN_DIR "/gpreempt-load"});
    const std::string lines = "calibrate groups=1\noffline groups=1 ms=2\n";
    ASSERT_EQ(::write(told_.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
    ASSERT_TRUE(bystander_->expect_line("begun"));
    before_ = processes();
  }
  void TearDown() override {
    bystander_.reset();
    vgpu::server::run(vgpu({"stop", "shared"}));
    Verify::TearDown();
  }

  // Verify in the middle of stopping its own programs.
  Child begun() const {
    Words all = with({"sh", "-c", "exec \"$0\" \"$@\" 2>&1"},
                     with(vgpu({"exec", "shared", "--"}),
                          words({"--yes", "--rounds", "1000", "--step", "mechanisms"})));
    Child child(all);
    EXPECT_NE(child.read_until("mechanisms: ").find("mechanisms: "), std::string::npos);
    EXPECT_TRUE(eventually([] { return stopped_queues() > 0; }));
    return child;
  }
  // Queues on the device that are stopped now, whoever has stopped them.
  static int stopped_queues() {
    const std::string text = vgpu::server::run(vgpu({"stats", "shared"})).out;
    int count = 0;
    for (const char* word : {" held", " suspended", " evicted", " inactive"}) {
      for (std::size_t at = text.find(word); at != std::string::npos;
           at = text.find(word, at + 1)) {
        ++count;
      }
    }
    return count;
  }
  void expect_only_the_bystander_is_left() const {
    EXPECT_TRUE(eventually([&] { return processes() == before_; }))
        << testing::PrintToString(processes());
    EXPECT_TRUE(eventually([&] { return stopped_queues() == 0; }));
  }

  UniqueFd told_;  // what the bystander is told; its end is never closed before it
  std::optional<Child> bystander_;
  std::vector<std::pair<pid_t, std::string>> before_;
};

TEST_F(Endings, ByCtrlC) {
  Child child = begun();
  child.signal(SIGINT);
  EXPECT_NE(child.wait().status, 0);
  expect_only_the_bystander_is_left();
}

TEST_F(Endings, ByKillMinusNine) {
  Child child = begun();
  child.signal(SIGKILL);
  child.wait();
  expect_only_the_bystander_is_left();
}

TEST_F(Endings, AreNotNeededWhereTheGpuIsInUse) {
  const Outcome outcome =
      vgpu::server::run(with(vgpu({"exec", "shared", "--"}), words({"--rounds", "1"})));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("in use by"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--yes"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(output()));
}

}  // namespace
}  // namespace gp::verify
