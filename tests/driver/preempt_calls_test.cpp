// The preemption calls of kernel/patches in the driver, where a test can see more than a program
// does. What programs see is the conformance suite's (kernel/tests/conformance).
#include <cerrno>

#include "driver/tracee.h"

namespace vgpu::driver {
namespace {

class PreemptCalls : public DriverTest {
 protected:
  void SetUp() override {
    DriverConfig config = small();
    config.kernel_patches = true;
    start(config);
  }
  // The file of a new lease of the client.
  static UniqueFd lease_of(Client& client, u32 timeout_ms = abi::kPreemptMaxTimeoutMs) {
    abi::PreemptLeaseArgs args = {abi::preempt_lease_create, 0, timeout_ms, 0};
    Caller caller = client.make_caller();
    EXPECT_EQ(client.call_as(caller, client.file(), abi::kfd_preempt_lease, args), 0);
    return std::move(caller.reply_fd);
  }
  // A queue of the client whose /dev/kfd is `kfd_fd`, by that file.
  static int hold(Client& client, const UniqueFd& lease, int kfd_fd, u32 queue_id) {
    abi::PreemptQueueArgs args = {};
    args.entry = entry(kfd_fd, queue_id);
    args.lease_fd = static_cast<u32>(lease.get());
    args.type = abi::preempt_save;
    const int result = client.call(abi::kfd_preempt_queue, args);
    return result < 0 ? result : args.entry.status;
  }
  static abi::PreemptEntry entry(int kfd_fd, u32 queue_id) {
    return {static_cast<u32>(kfd_fd), abi::kPreemptTargetFd, 0, queue_id, 0, 0};
  }
  bool is_held(const Client& client, const TestQueue& queue) {
    return state_of(client.pid(), queue.id) == "held";
  }
};

TEST_F(PreemptCalls, AreNotThereUnlessAskedFor) {
  start(small());
  Client client(*driver);
  for (u32 nr = abi::kfd_get_preempt_caps; nr <= abi::kfd_set_slot_reservation; ++nr) {
    abi::PreemptQueueArgs args = {};
    EXPECT_EQ(client.call(nr, args), -ENOTTY) << nr;
  }
}

TEST_F(PreemptCalls, AreOfLinux612) {
  DriverConfig config = small();
  config.kernel_patches = true;
  config.kfd = KfdVersion::v1_11;
  config.tree = tree;
  EXPECT_FALSE(Driver::create(config));
}

TEST_F(PreemptCalls, SayWhetherTheEarlyOnesAreThereToo) {
  abi::PreemptCapsArgs args = {};
  EXPECT_EQ(Client(*driver).call(abi::kfd_get_preempt_caps, args), 0);
  EXPECT_EQ(args.caps & abi::kPreemptCapEarly, 0u);
}

TEST_F(PreemptCalls, HoldsLastUntilTheLastCopyOfTheFileIsClosed) {
  Client client(*driver), job(*driver);
  const TestQueue queue = job.create_queue();
  UniqueFd lease = lease_of(client);
  UniqueFd copy(dup(lease.get()));
  EXPECT_EQ(hold(client, lease, job.kfd_fd(), queue.id), 0);
  lease.reset();
  EXPECT_TRUE(is_held(job, queue));
  copy.reset();
  EXPECT_FALSE(is_held(job, queue));
}

TEST_F(PreemptCalls, TheOwnersEndReleasesThoughTheFileIsOpen) {
  Client job(*driver);
  const TestQueue queue = job.create_queue();
  UniqueFd lease;
  {
    Client client(*driver);
    lease = lease_of(client);
    EXPECT_EQ(hold(client, lease, job.kfd_fd(), queue.id), 0);
    EXPECT_TRUE(is_held(job, queue));
  }
  EXPECT_FALSE(is_held(job, queue));
  EXPECT_EQ(hold(job, lease, job.kfd_fd(), queue.id), -EPERM);
}

TEST_F(PreemptCalls, ALeaseWithoutADeadlineHoldsItsOwnProcessAlone) {
  Client client(*driver), job(*driver);
  const TestQueue own = client.create_queue(), queue = job.create_queue();
  const UniqueFd lease = lease_of(client, 0);
  EXPECT_EQ(hold(client, lease, client.kfd_fd(), own.id), 0);
  EXPECT_EQ(hold(client, lease, job.kfd_fd(), queue.id), -EPERM);
  abi::PreemptLeaseArgs renewal = {abi::preempt_lease_renew, static_cast<u32>(lease.get()), 0, 0};
  EXPECT_EQ(client.call(abi::kfd_preempt_lease, renewal), -EINVAL) << "no deadline any more";
  renewal.timeout_ms = abi::kPreemptMaxTimeoutMs;
  EXPECT_EQ(client.call(abi::kfd_preempt_lease, renewal), 0);
  EXPECT_EQ(hold(client, lease, job.kfd_fd(), queue.id), 0);
}

TEST_F(PreemptCalls, AProcessHasSoManyLeasesAndNoMore) {
  Client client(*driver);
  std::vector<UniqueFd> leases;
  for (u32 i = 0; i < abi::kPreemptMaxLeases; ++i) {
    leases.push_back(lease_of(client));
  }
  abi::PreemptLeaseArgs args = {abi::preempt_lease_create, 0, 1000, 0};
  EXPECT_EQ(client.call(abi::kfd_preempt_lease, args), -ENOSPC);
  leases.pop_back();
  EXPECT_TRUE(lease_of(client));
}

TEST_F(PreemptCalls, AnotherFileIsNoLease) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  EXPECT_EQ(hold(client, reader, client.kfd_fd(), queue.id), -EBADF);
}

TEST_F(PreemptCalls, ATracerMayStopItsTraceeByPid) {
  Child child;
  if (!child.seize()) {
    GTEST_SKIP() << "ptrace is not allowed here";
  }
  Client tracer(*driver), job(*driver, child.pid());
  const TestQueue queue = job.create_queue();
  const UniqueFd lease = lease_of(tracer);
  abi::PreemptQueueArgs args = {};
  args.entry = {static_cast<u32>(child.pid()), 0, 0, queue.id, 0, 0};
  args.lease_fd = static_cast<u32>(lease.get());
  args.type = abi::preempt_save;
  // A pid that does not exist has no capabilities.
  EXPECT_EQ(tracer.call(abi::kfd_preempt_queue, args), -EPERM);
  Caller caller = tracer.make_caller(getpid());
  EXPECT_EQ(tracer.call_as(caller, tracer.file(), abi::kfd_preempt_queue, args), 0);
  EXPECT_TRUE(is_held(job, queue));
  child.detach();
}

TEST_F(PreemptCalls, AGpuThatDoesNotFollowIsReported) {
  DriverConfig config = small();
  config.kernel_patches = true;
  config.hws_timeout_ms = 20;
  start(config);
  Client client(*driver), job(*driver);
  const TestQueue queue = job.create_queue();
  const UniqueFd lease = lease_of(client);
  ASSERT_TRUE(driver->inject("hws-hang"));
  EXPECT_EQ(hold(client, lease, job.kfd_fd(), queue.id), -EIO);
  EXPECT_TRUE(is_held(job, queue));  // it will not be mapped again
}

TEST_F(PreemptCalls, PreemptedTimeIsAFileOfPatchedDriversOnly) {
  const auto file_of = [](Client& client) {
    return "/sys/class/kfd/kfd/proc/" + std::to_string(client.pid()) + "/stats_" +
           std::to_string(client.gpu_id()) + "/preempted_ms";
  };
  {
    Client client(*driver);
    EXPECT_EQ(read(file_of(client)), "0\n");
  }
  start(small());
  Client client(*driver);
  EXPECT_FALSE(driver->read_file(file_of(client)));
}

}  // namespace
}  // namespace vgpu::driver
