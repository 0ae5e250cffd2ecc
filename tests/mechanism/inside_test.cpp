// The library that runs inside a target, against a driver of a few lines: what it calls, in which
// order, and what it undoes. That it stops kernels is shown by tests/hip/mechanism_*.hip.
#include <errno.h>

#include <memory>
#include <set>

#include "mechanism_support.h"
#include "stop/session.h"

namespace gp::stop {
namespace {

// Knows queues 0 to 3; notes what it is asked to do.
struct FakeDriver {
  std::set<u32> stopped;
  std::set<u32> broken;  // cannot be stopped
  u32 calls = 0;
  u32 minor = 17;

  static int ioctl(void* context, int, unsigned long request, void* argument) {
    return static_cast<FakeDriver*>(context)->handle(request, argument);
  }
  int handle(unsigned long request, void* argument) {
    switch (request & 0xff) {
      case abi::kfd_get_version:
        *static_cast<abi::GetVersionArgs*>(argument) = {1, minor};
        return 0;
      case abi::kfd_update_queue: {
        const auto* args = static_cast<const abi::UpdateQueueArgs*>(argument);
        return set(args->queue_id, args->queue_percentage == 0);
      }
      case abi::early_preempt_queue:
        EXPECT_EQ(request, 0xc0104b87);
        return set(static_cast<const abi::EarlyPreemptArgs*>(argument)->queue_id, true);
      case abi::early_resume_queue:
        EXPECT_EQ(request, 0xc0104b88);
        return set(static_cast<const abi::EarlyResumeArgs*>(argument)->queue_id, false);
      default: return -ENOTTY;
    }
  }
  int set(u32 id, bool stop) {
    calls++;
    if (stop && broken.contains(id)) {
      return -EIO;
    }
    stop ? (void)stopped.insert(id) : (void)stopped.erase(id);
    return 0;
  }
};

class Inside : public testing::TestWithParam<Mechanism> {
 protected:
  void SetUp() override {
    ASSERT_EQ(open_session(*session_, {-1, FakeDriver::ioctl, &driver_}, GetParam()), 0);
    for (u32 id = 0; id < 4; id++) {
      Queue queue;
      queue.id = id;
      queue.ring_base = 0x1000 * (id + 1);
      queue.ring_bytes = 4096;
      queue.priority_known = true;
      add(session_->queues(), queue);
    }
  }
  int stop(std::vector<u32> ids) {
    return stop_queues(*session_, ids.data(), static_cast<u32>(ids.size()), 1, &failed_id_);
  }
  FakeDriver driver_;
  u32 failed_id_ = 0;
  const std::unique_ptr<Session> session_ = std::make_unique<Session>();
};
INSTANTIATE_TEST_SUITE_P(Mechanisms, Inside,
                         testing::Values(Mechanism::update_queue, Mechanism::early_ioctl));

TEST_P(Inside, StopsEachQueueOnce) {
  ASSERT_EQ(stop({0, 2}), 0);
  ASSERT_EQ(stop({0, 2, 3}), 0);
  EXPECT_EQ(driver_.calls, 3u);
  EXPECT_EQ(driver_.stopped, (std::set<u32>{0, 2, 3}));
  ASSERT_EQ(start_all_queues(*session_), 0);
  EXPECT_TRUE(driver_.stopped.empty());
}

TEST_P(Inside, UndoesWhatItStoppedWhenOneFails) {
  ASSERT_EQ(stop({0}), 0);
  driver_.broken = {2};
  EXPECT_EQ(stop({1, 2, 3}), -EIO);
  EXPECT_EQ(failed_id_, 2u);
  EXPECT_EQ(driver_.stopped, (std::set<u32>{0}));  // as it was before the call
}

TEST_P(Inside, RefusesBadIds) {
  EXPECT_EQ(stop({9}), -ENOENT);
  EXPECT_EQ(stop({1, 1}), -EINVAL);
  EXPECT_EQ(stop({1024}), -ERANGE);
  EXPECT_EQ(stop(std::vector<u32>(1025)), -E2BIG);
  EXPECT_TRUE(driver_.stopped.empty());
}

TEST_P(Inside, StopsEverythingAndStartsIt) {
  ASSERT_EQ(stop_all_queues(*session_, 1, &failed_id_), 0);
  EXPECT_EQ(driver_.stopped.size(), 4u);
  ASSERT_EQ(start_all_queues(*session_), 0);
  EXPECT_TRUE(driver_.stopped.empty());
}

TEST_P(Inside, StartsAQueueBeforeItIsDestroyed) {
  ASSERT_EQ(stop({1, 2}), 0);
  ASSERT_EQ(before_destroy(*session_, 0x2000), 0);
  EXPECT_EQ(driver_.stopped, (std::set<u32>{2}));
  EXPECT_EQ(stop({1}), -ENOENT);
}

TEST_P(Inside, RunsEverythingWhenItCloses) {
  ASSERT_EQ(stop({0, 1, 2, 3}), 0);
  ASSERT_EQ(close_session(*session_), 0);
  EXPECT_TRUE(driver_.stopped.empty());
}

TEST(InsideUpdateQueue, RefusesAQueueWhosePriorityItDoesNotKnow) {
  FakeDriver driver;
  const auto session = std::make_unique<Session>();
  ASSERT_EQ(open_session(*session, {-1, FakeDriver::ioctl, &driver}, Mechanism::update_queue), 0);
  Queue queue;
  queue.ring_base = 0x1000;
  queue.ring_bytes = 4096;
  add(session->queues(), queue);
  const u32 id = 0;
  u32 failed_id = 0;
  EXPECT_EQ(stop_queues(*session, &id, 1, 1, &failed_id), -EOPNOTSUPP);
  ASSERT_EQ(note_priority(*session, 0x1000, 11), 0);
  EXPECT_EQ(stop_queues(*session, &id, 1, 1, &failed_id), 0);
}

TEST(InsideUpdateQueue, RefusesARingThatIsNotUnique) {
  const auto table = std::make_unique<QueueTable>();
  Queue queue;
  queue.ring_base = 0x1000;
  add(*table, queue);
  EXPECT_NE(find_by_ring(*table, 0x1000), nullptr);
  queue.id = 1;
  add(*table, queue);
  EXPECT_EQ(find_by_ring(*table, 0x1000), nullptr);
}

}  // namespace
}  // namespace gp::stop
