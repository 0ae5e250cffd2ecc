// What a process can make slow to read is not waited for.
#include "daemon/onlooker.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace gp::daemon {
namespace {

using Patience = Onlooker::Patience;

constexpr Payer kAlice{1000, 0}, kBob{1001, 0}, kRoot{0, 0}, kContainer{0, 7};

// Files that cannot be read before they are released.
class SlowFiles {
 public:
  Onlooker::Facts read(pid_t pid) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pid != kSlow || released_; });
    discover::ProcessFacts facts;
    facts.key.pid = pid;
    return facts;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  static constexpr pid_t kSlow = 1;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
};

class OnlookerTest : public ::testing::Test {
 protected:
  Onlooker::Done noted() {
    return [this](const Onlooker::Facts& facts) { seen.push_back(facts->key.pid); };
  }
  void run_until_seen(std::size_t count) {
    while (seen.size() < count) {
      ASSERT_TRUE(loop->run_once());
    }
  }

  std::unique_ptr<Loop> loop = std::move(*Loop::create());
  // Kept by the readers, who may outlive the test.
  std::shared_ptr<SlowFiles> files = std::make_shared<SlowFiles>();
  Onlooker onlooker{*loop, [files = files](pid_t pid) { return files->read(pid); }};
  std::vector<pid_t> seen;
};

TEST_F(OnlookerTest, ReadsAProcess) {
  onlooker.look(7, kAlice, Patience::a_moment, noted());
  run_until_seen(1);
  EXPECT_EQ(seen, std::vector<pid_t>{7});
}

TEST_F(OnlookerTest, DoesNotWaitForASlowOneAndTellsOfItLater) {
  onlooker.look(SlowFiles::kSlow, kAlice, Patience::a_moment, noted());
  EXPECT_TRUE(seen.empty());
  files->release();
  run_until_seen(1);
}

TEST_F(OnlookerTest, OthersAreReadWhileASlowOneIs) {
  onlooker.look(SlowFiles::kSlow, kAlice, Patience::a_moment, noted());
  onlooker.look(8, kBob, Patience::none, noted());
  run_until_seen(1);
  EXPECT_EQ(seen, std::vector<pid_t>{8});
  files->release();
  run_until_seen(2);
}

TEST_F(OnlookerTest, AContainerDoesNotHoldUpRoot) {
  onlooker.look(SlowFiles::kSlow, kContainer, Patience::a_moment, noted());
  onlooker.look(8, kRoot, Patience::none, noted());
  run_until_seen(1);
  EXPECT_EQ(seen, std::vector<pid_t>{8});
  files->release();
  run_until_seen(2);
}

TEST_F(OnlookerTest, OneUserHasOneReaderAndAllAreReadInTheEnd) {
  for (const pid_t pid : {SlowFiles::kSlow, 2, 3}) {
    onlooker.look(pid, kAlice, Patience::a_moment, noted());
  }
  EXPECT_TRUE(seen.empty());
  files->release();
  run_until_seen(3);
  EXPECT_EQ(seen, (std::vector<pid_t>{SlowFiles::kSlow, 2, 3}));
}

TEST(Onlooker, MayEndWhileAProcessIsRead) {
  const auto files = std::make_shared<SlowFiles>();
  {
    const std::unique_ptr<Loop> loop = std::move(*Loop::create());
    Onlooker onlooker(*loop, [files](pid_t pid) { return files->read(pid); });
    onlooker.look(SlowFiles::kSlow, kAlice, Patience::none,
                  [](const Onlooker::Facts&) { ADD_FAILURE() << "nobody waits any more"; });
  }
  files->release();
}

}  // namespace
}  // namespace gp::daemon
