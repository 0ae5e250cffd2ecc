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

// A device with somebody else's offline program on its first GPU.
class Endings : public Verify {
 protected:
  void SetUp() override {
    Verify::SetUp();
    ASSERT_EQ(vgpu::server::run(with(vgpu({"start", "shared"}), device_options())).status, 0);
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

  virtual Words device_options() const { return {}; }
  // The program of verify with this at the end of its mark.
  static pid_t program_of(const std::string& work_class) {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      const std::string words((std::istreambuf_iterator<char>(file)), {});
      if (words.find("gpreempt-load") != std::string::npos && words.find("--mark") != words.npos &&
          words.find("-" + work_class + '\0') != std::string::npos) {
        return std::stoi(entry.path().filename());
      }
    }
    return 0;
  }

  // Verify in the middle of a step that stops its own programs.
  Child begun(const std::string& step, const Words& more) const {
    Words all =
        with({"sh", "-c", "exec \"$0\" \"$@\" 2>&1"},
             with(vgpu({"exec", "shared", "--"}), words(with({"--yes", "--step", step}, more))));
    Child child(all);
    EXPECT_NE(child.read_until(step + ": ").find(step + ": "), std::string::npos);
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

TEST_F(Endings, ByCtrlCKeepWhatWasMeasured) {
  Child child = begun("mechanisms", {"--rounds", "1000"});
  child.signal(SIGINT);
  const Outcome outcome = child.wait();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("verify was interrupted in the step mechanisms"), std::string::npos)
      << outcome.out;
  expect_only_the_bystander_is_left();
  expect_met("program", "exact results");
  const auto rest = find("mechanisms", "the rest of this step");
  ASSERT_FALSE(rest.empty());
  EXPECT_EQ(rest.front().at("unjudged"), "skipped");
  for (const char* file : {"results.json", "report.html", "verify.txt"}) {
    const Outcome kept = vgpu::server::run(
        {"tar", "-xzOf", output() + ".tar.gz", "--wildcards", std::string("*/") + file});
    EXPECT_TRUE(kept.out.find("nterrupted") != std::string::npos &&
                kept.out.find("in the step mechanisms") != std::string::npos)
        << file;
  }
}

// Whoever ends a night's run in the morning has the night.
TEST_F(Endings, OfASoakKeepItsNumbers) {
  Child child = begun("soak", {"--rounds", "1", "--soak", "4h"});
  // Before it, and while it warms up, there are fewer stops than that.
  for (int stops = 0; stops < 12; ++stops) {
    EXPECT_TRUE(eventually([] { return stopped_queues() == 0; }));
    EXPECT_TRUE(eventually([] { return stopped_queues() > 0; }));
  }
  child.signal(SIGINT);
  EXPECT_EQ(child.wait().status, 1);
  expect_only_the_bystander_is_left();
  expect_met("soak", "wrong results");
  expect_met("soak", "stops of offline");
  const auto p99 = find("soak", "online p99");
  ASSERT_FALSE(p99.empty());
  EXPECT_FALSE(p99.front().at("value").is_null());
}

// A night's latencies are not lost with the program beside them, and nobody waits for the morning.
TEST_F(Endings, OfASoakWhoseOfflineDiesKeepItsNumbers) {
  Child child = begun("soak", {"--rounds", "1", "--soak", "4h"});
  for (int stops = 0; stops < 12; ++stops) {
    EXPECT_TRUE(eventually([] { return stopped_queues() == 0; }));
    EXPECT_TRUE(eventually([] { return stopped_queues() > 0; }));
  }
  const pid_t offline = program_of("offline");
  ASSERT_GT(offline, 0);
  ::kill(offline, SIGKILL);
  const Outcome outcome = child.wait();
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  const auto ended = find("soak", "both programs run to the end");
  ASSERT_FALSE(ended.empty()) << outcome.out;
  EXPECT_FALSE(is_met(ended.front()));
  const auto p99 = find("soak", "online p99");
  ASSERT_FALSE(p99.empty());
  EXPECT_FALSE(p99.front().at("value").is_null());
  expect_only_the_bystander_is_left();
}

TEST_F(Endings, ByKillMinusNine) {
  Child child = begun("mechanisms", {"--rounds", "1000"});
  child.signal(SIGKILL);
  child.wait();
  expect_only_the_bystander_is_left();
}

TEST_F(Endings, AreNotNeededWhereTheGpuIsInUse) {
  const Outcome outcome =
      vgpu::server::run(with(vgpu({"exec", "shared", "--"}), words({"--rounds", "1"})));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("GPU 0 is in use by"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--yes"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(output()));
}

class OnTwoGpus : public Endings {
 protected:
  Words device_options() const override { return {"--gpus", "2"}; }
  Outcome verify_there(const Words& more) const {
    return vgpu::server::run(with(vgpu({"exec", "shared", "--"}), words(more)));
  }
};

// The one that was named may be stopped, and no other: the step for all GPUs, too.
TEST_F(OnTwoGpus, TheOneThatOthersUseIsLeftAlone) {
  const Outcome outcome = verify_there({"--rounds", "1", "--gpu", "1", "--step", "gpus"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const auto left_out = find("gpus", "a job on all GPUs");
  ASSERT_FALSE(left_out.empty()) << outcome.out << outcome.err;
  EXPECT_EQ(left_out.front().at("unjudged"), "skipped");
  const std::string note = left_out.front().at("note");
  EXPECT_NE(note.find("GPU 0: in use by"), std::string::npos) << note;
  EXPECT_NE(note.find("gpreempt-load"), std::string::npos) << note;
}

TEST_F(OnTwoGpus, BothAreUsedWhereTheUserSaysSo) {
  const Outcome outcome = verify_there({"--rounds", "1", "--gpu", "1", "--yes", "--step", "gpus"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  expect_met("gpus", "2 GPUs: wrong results");
}

TEST_F(OnTwoGpus, TheFreeOneIsNamed) {
  const Outcome outcome = verify_there({"--rounds", "1"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("GPU 0 is in use by"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--gpu; free: 1"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace gp::verify
