// PREEMPT_QUEUE and RESUME_QUEUE of early builds, for devices that are started with them.
#include <cerrno>

#include "driver_support.h"

namespace vgpu::driver {
namespace {

class EarlyIoctls : public DriverTest {
 protected:
  void SetUp() override {
    DriverConfig config = small();
    config.early_ioctls = true;
    start(config);
  }
  static int preempt(Client& client, u32 queue_id, u32 type = abi::early_save) {
    abi::EarlyPreemptArgs args = {queue_id, type, 1000, 0};
    return client.call(abi::early_preempt_queue, args);
  }
  static int resume(Client& client, u32 queue_id) {
    abi::EarlyResumeArgs args = {queue_id, {}};
    return client.call(abi::early_resume_queue, args);
  }
};

TEST_F(EarlyIoctls, AreNotThereUnlessAskedFor) {
  start(small());
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  EXPECT_EQ(preempt(client, queue.id), -ENOTTY);
  EXPECT_EQ(resume(client, queue.id), -ENOTTY);
}

TEST_F(EarlyIoctls, TakeAQueueOffTheHardwareAndPutItBack) {
  Client client(*driver);
  const TestQueue queue = client.create_queue(), other = client.create_queue();
  EXPECT_EQ(preempt(client, queue.id), 0);
  EXPECT_EQ(state_of(client.pid(), queue.id), "preempted");
  EXPECT_TRUE(eventually([&] { return state_of(client.pid(), other.id) == "mapped"; }));
  EXPECT_EQ(resume(client, queue.id), 0);
  EXPECT_TRUE(eventually([&] { return state_of(client.pid(), queue.id) == "mapped"; }));
}

TEST_F(EarlyIoctls, DoNothingTwice) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  EXPECT_EQ(resume(client, queue.id), 0);
  EXPECT_EQ(preempt(client, queue.id), 0);
  const u64 before = unmaps();
  EXPECT_EQ(preempt(client, queue.id), 0);
  EXPECT_EQ(unmaps(), before);
}

TEST_F(EarlyIoctls, SaveWavesOrRefuse) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  EXPECT_EQ(preempt(client, queue.id, abi::early_drain), -EOPNOTSUPP);
  EXPECT_EQ(preempt(client, queue.id, abi::early_reset), -EOPNOTSUPP);
  EXPECT_EQ(preempt(client, queue.id, 3), -EINVAL);
  EXPECT_NE(state_of(client.pid(), queue.id), "preempted");
}

TEST_F(EarlyIoctls, AreForQueuesOfTheCaller) {
  Client client(*driver), other(*driver);
  const TestQueue queue = client.create_queue();
  EXPECT_EQ(preempt(client, queue.id + 1), -EINVAL);
  EXPECT_EQ(preempt(other, queue.id), -EINVAL);
  EXPECT_EQ(resume(other, queue.id), -EINVAL);
}

TEST_F(EarlyIoctls, LeaveOtherReasonsToBeStoppedAlone) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  EXPECT_EQ(preempt(client, queue.id), 0);
  EXPECT_EQ(client.update_queue(queue, 0), 0);
  EXPECT_EQ(resume(client, queue.id), 0);
  EXPECT_EQ(state_of(client.pid(), queue.id), "inactive");
  EXPECT_EQ(preempt(client, queue.id), 0);
  EXPECT_EQ(client.update_queue(queue, 100), 0);
  EXPECT_EQ(state_of(client.pid(), queue.id), "preempted");
  const std::string pid = std::to_string(client.pid());
  EXPECT_TRUE(driver->inject("evict=" + pid));
  EXPECT_TRUE(driver->inject("restore=" + pid));
  EXPECT_EQ(state_of(client.pid(), queue.id), "preempted");
  EXPECT_EQ(client.destroy_queue(queue.id), 0);
}

}  // namespace
}  // namespace vgpu::driver
