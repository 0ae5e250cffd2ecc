// CRIU_OP: pausing a whole process.
#include "driver/driver_support.h"
#include "driver/task.h"
#include "driver/tracee.h"

namespace vgpu::driver {
namespace {

class Criu : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    if (!has_capability(getpid(), kCapSysAdmin) &&
        !has_capability(getpid(), kCapCheckpointRestore)) {
      GTEST_SKIP() << "needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN";
    }
  }
  static int run(Client& client, u32 op, abi::CriuArgs* out = nullptr) {
    return run_on(client, client.file(), op, out);
  }
  static int run_on(Client& client, FileId file, u32 op, abi::CriuArgs* out = nullptr,
                    pid_t tid = 0) {
    abi::CriuArgs args = {};
    args.op = op;
    const int result = client.call_on(file, abi::kfd_criu_op, args, tid);
    if (out) {
      *out = args;
    }
    return result;
  }
};

TEST_F(Criu, PausesAndUnpauses) {
  Client self(*driver, getpid());
  const TestQueue queue = self.create_queue();
  self.create_event();
  abi::CriuArgs info = {};
  EXPECT_EQ(run(self, abi::criu_process_info, &info), 0);
  EXPECT_EQ(state_of(getpid(), queue.id), "evicted");
  EXPECT_EQ(info.pid, static_cast<u32>(getpid()));
  EXPECT_EQ(info.num_devices, 1u);
  EXPECT_EQ(info.num_objects, 2u) << "a queue and an event";
  EXPECT_GE(info.num_bos, 4u);
  EXPECT_GT(info.priv_data_size, 2048u);
  EXPECT_EQ(run(self, abi::criu_unpause), 0);
  EXPECT_TRUE(eventually([&] { return state_of(getpid(), queue.id) == "mapped"; }));
  EXPECT_EQ(run(self, abi::criu_unpause), -EINVAL) << "it is not paused";
}

TEST_F(Criu, PausingTwiceCannotBeUndone) {
  Client self(*driver, getpid());
  const TestQueue queue = self.create_queue();
  EXPECT_EQ(run(self, abi::criu_process_info), 0);
  EXPECT_EQ(run(self, abi::criu_process_info), 0);
  EXPECT_EQ(run(self, abi::criu_unpause), 0);
  EXPECT_EQ(state_of(getpid(), queue.id), "evicted") << "one reason is left";
  EXPECT_EQ(run(self, abi::criu_unpause), -EINVAL);
}

TEST_F(Criu, NewQueueOfAPausedProcessIsEvicted) {
  Client self(*driver, getpid());
  self.create_queue();
  ASSERT_EQ(run(self, abi::criu_process_info), 0);
  EXPECT_EQ(state_of(getpid(), self.create_queue().id), "evicted");
}

TEST_F(Criu, ActsOnTheOwnerOfTheFile) {
  Child target;
  Client owner(*driver, target.pid());
  const TestQueue queue = owner.create_queue();
  Client pauser(*driver, getpid());
  EXPECT_EQ(run_on(pauser, owner.file(), abi::criu_process_info, nullptr, gettid()), -EBADF)
      << "not the tracer";
  if (!target.seize()) {
    GTEST_SKIP() << "ptrace is not allowed here";
  }
  abi::CriuArgs info = {};
  EXPECT_EQ(run_on(pauser, owner.file(), abi::criu_process_info, &info, gettid()), 0);
  EXPECT_EQ(info.pid, static_cast<u32>(target.pid()));
  EXPECT_EQ(state_of(target.pid(), queue.id), "evicted");
  EXPECT_EQ(run_on(pauser, owner.file(), abi::criu_unpause, nullptr, gettid() + 1), -EBADF);
  // The pauser's end does not undo it.
  pauser.exit();
  EXPECT_EQ(state_of(target.pid(), queue.id), "evicted");
}

TEST_F(Criu, NeedsTheCapability) {
  Client client(*driver);  // a pid that does not exist has no capabilities
  client.create_queue();
  EXPECT_EQ(run(client, abi::criu_process_info), -EACCES);
}

TEST_F(Criu, EvictedTimeIsCounted) {
  Client self(*driver, getpid());
  self.create_queue();
  ASSERT_EQ(run(self, abi::criu_process_info), 0);
  usleep(20'000);
  ASSERT_EQ(run(self, abi::criu_unpause), 0);
  const std::string file = "/sys/class/kfd/kfd/proc/" + std::to_string(getpid()) + "/stats_" +
                           std::to_string(self.gpu_id()) + "/evicted_ms";
  EXPECT_GE(std::stoul(read(file)), 20u);
}

TEST_F(Criu, OtherOperations) {
  Client self(*driver, getpid());
  self.create_queue();
  EXPECT_EQ(run(self, abi::criu_checkpoint), -EINVAL) << "only while paused";
  ASSERT_EQ(run(self, abi::criu_process_info), 0);
  EXPECT_EQ(run(self, abi::criu_checkpoint), -EOPNOTSUPP);
  EXPECT_EQ(run(self, abi::criu_restore), -EOPNOTSUPP);
  EXPECT_EQ(run(self, 99), -EINVAL);
  EXPECT_EQ(run(self, abi::criu_resume), -ESRCH);
  abi::CriuArgs args = {};
  args.op = abi::criu_resume;
  args.pid = static_cast<u32>(getpid());
  EXPECT_EQ(self.call(abi::kfd_criu_op, args), 0);
}

}  // namespace
}  // namespace vgpu::driver
