// What the watch makes of changes, on a recording. Waking up is tested on the virtual GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <utility>

#include "discover/machine_support.h"

namespace gp::discover {
namespace {

constexpr pid_t kPid = 1 << 30;  // no process can have it
constexpr char kDirectory[] = "/sys/class/kfd/kfd/proc/1073741824";

class WatchTest : public testing::Test {
 protected:
  void SetUp() override {
    machine_.processes = {{.pid = kPid, .start_time = 1, .queues = {{.queue_id = 0}}}};
    recording_ = machine_.recording();
    set_inode(10);
    auto watch = Watch::create(os_, made_paths());
    ASSERT_TRUE(watch);
    watch_ = std::move(*watch);
    first_ = *watch_->take_events();
  }
  void set_inode(u64 inode) { recording_.statuses[kDirectory] = {{.inode = inode}, 0}; }
  // The process ends and another one gets its pid.
  void reuse_pid() {
    machine_.processes[0].start_time = 2;
    recording_ = machine_.recording();
  }

  MadeMachine machine_;
  Recording recording_;
  ReplayingOs os_{recording_};
  std::unique_ptr<Watch> watch_;
  std::vector<QueueEvent> first_;
};

TEST_F(WatchTest, TheFirstLookGivesTheQueuesThatAreThere) {
  ASSERT_EQ(first_.size(), 1u);
  EXPECT_TRUE(first_[0].appeared);
  EXPECT_EQ(first_[0].key, (QueueKey{{kPid, 1}, 0}));
  EXPECT_EQ(first_[0].gpu_id, machine_.gpu_id(0));
  EXPECT_EQ(first_[0].type, QueueType::compute);
  EXPECT_TRUE(watch_->take_events()->empty()) << "and each only once";
}

TEST_F(WatchTest, AQueueThatIsDestroyedIsReported) {
  recording_.remove(fmt::format("{}/queues/0", kDirectory));
  const auto events = *watch_->take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].appeared);
  EXPECT_EQ(events[0].key, (QueueKey{{kPid, 1}, 0}));
}

// A daemon without descriptors must not take the living for dead: nobody would look at them again.
TEST_F(WatchTest, AProcessThatCannotBeReadJustNowHasNotEnded) {
  auto& stat = recording_.files[fmt::format("/proc/{}/stat", kPid)];
  const auto before = std::exchange(stat, {"", EMFILE});
  EXPECT_TRUE(watch_->take_events()->empty());
  stat = before;
  EXPECT_TRUE(watch_->take_events()->empty());
  recording_.remove(fmt::format("{}/queues/0", kDirectory));
  EXPECT_EQ(watch_->take_events()->size(), 1u) << "it is not looked at any more";
}

TEST_F(WatchTest, APidThatIsUsedAgainIsAnotherProcess) {
  reuse_pid();
  set_inode(11);
  const auto events = *watch_->take_events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_FALSE(events[0].appeared);
  EXPECT_EQ(events[0].key.process, (ProcessKey{kPid, 1}));
  EXPECT_TRUE(events[1].appeared);
  EXPECT_EQ(events[1].key.process, (ProcessKey{kPid, 2}));
}

TEST_F(WatchTest, QueuesThatTheDriverHasYetToRemoveAreNotGivenToTheNextProcess) {
  reuse_pid();
  set_inode(10);  // the directory is still that of the first
  const auto events = *watch_->take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].appeared);
  EXPECT_TRUE(watch_->take_events()->empty());
  set_inode(11);  // now it is its own
  ASSERT_EQ(watch_->take_events()->size(), 1u);
}

TEST_F(WatchTest, AProcessThatSomebodySpeaksForIsNotLookedAt) {
  watch_->covered({kPid, 1}, true);
  recording_.remove(fmt::format("{}/queues/0", kDirectory));
  EXPECT_TRUE(watch_->take_events()->empty());
  watch_->covered({kPid, 1}, false);
  EXPECT_EQ(watch_->take_events()->size(), 1u);
}

TEST_F(WatchTest, WakesWhileAProcessNeedsToBeLookedAt) {
  pollfd ready{watch_->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 10'000), 1);
}

TEST(WatchWithoutDriver, IsAnError) {
  const Recording nothing;
  ReplayingOs os(nothing);
  const auto watch = Watch::create(os, made_paths());
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code, ENOENT);
}

}  // namespace
}  // namespace gp::discover
