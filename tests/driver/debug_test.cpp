// DBG_TRAP: sessions, suspend and resume, exceptions, and who may do it.
#include <fcntl.h>
#include <poll.h>

#include <future>
#include <thread>

#include "driver/driver_support.h"
#include "driver/tracee.h"

namespace vgpu::driver {
namespace {

constexpr u64 kNewQueue = abi::ec_mask(abi::ec_queue_new);
constexpr u64 kRuntime = abi::ec_mask(abi::ec_process_runtime);
constexpr u64 kQueueDelete = abi::ec_mask(abi::ec_device_queue_delete);

class Debug : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(pipe2(pipe_, O_NONBLOCK | O_CLOEXEC), 0);
  }
  void TearDown() override {
    close(pipe_[0]);
    close(pipe_[1]);
    DriverTest::TearDown();
  }

  static int enable_runtime(Client& client, u32 mode = 1) {
    abi::RuntimeEnableArgs args = {.r_debug = 0x1234, .mode_mask = mode, .capabilities_mask = 0};
    return client.call(abi::kfd_runtime_enable, args);
  }
  abi::DbgTrapArgs op(pid_t target, u32 number) {
    abi::DbgTrapArgs args = {};
    args.pid = static_cast<u32>(target);
    args.op = number;
    return args;
  }
  int trap(Client& client, abi::DbgTrapArgs& args, pid_t tid = 0) {
    return client.call_on(client.file(), abi::kfd_dbg_trap, args, tid);
  }
  int enable(Client& client, pid_t target, u64 mask = 0, abi::RuntimeInfo* info = nullptr,
             pid_t tid = 0) {
    abi::RuntimeInfo local = {};
    abi::DbgTrapArgs args = op(target, abi::dbg_enable);
    args.enable.exception_mask = mask;
    args.enable.rinfo_ptr = reinterpret_cast<u64>(info ? info : &local);
    args.enable.rinfo_size = sizeof(abi::RuntimeInfo);
    Caller caller = client.make_caller(tid);
    caller.passed_fd.reset(dup(pipe_[1]));
    const int result = client.call_as(caller, client.file(), abi::kfd_dbg_trap, args);
    EXPECT_TRUE(result || args.enable.rinfo_size == sizeof(abi::RuntimeInfo));
    return result;
  }
  int disable(Client& client, pid_t target, pid_t tid = 0) {
    abi::DbgTrapArgs args = op(target, abi::dbg_disable);
    return trap(client, args, tid);
  }
  std::vector<abi::QueueSnapshotEntry> snapshot(Client& client, pid_t target, u64 clear,
                                                pid_t tid = 0) {
    std::vector<abi::QueueSnapshotEntry> entries(64);
    abi::DbgTrapArgs args = op(target, abi::dbg_get_queue_snapshot);
    args.queue_snapshot.exception_mask = clear;
    args.queue_snapshot.snapshot_buf_ptr = reinterpret_cast<u64>(entries.data());
    args.queue_snapshot.count = static_cast<u32>(entries.size());
    args.queue_snapshot.entry_size = sizeof(abi::QueueSnapshotEntry);
    EXPECT_EQ(trap(client, args, tid), 0);
    entries.resize(args.queue_snapshot.count);
    return entries;
  }
  int suspend(Client& client, pid_t target, std::vector<u32>& ids, pid_t tid = 0,
              u32 grace = abi::kUseDefaultGracePeriod) {
    abi::DbgTrapArgs args = op(target, abi::dbg_suspend_queues);
    args.suspend_queues.queue_array_ptr = reinterpret_cast<u64>(ids.data());
    args.suspend_queues.num_queues = static_cast<u32>(ids.size());
    args.suspend_queues.grace_period = grace;
    return trap(client, args, tid);
  }
  int resume(Client& client, pid_t target, std::vector<u32>& ids, pid_t tid = 0) {
    abi::DbgTrapArgs args = op(target, abi::dbg_resume_queues);
    args.resume_queues.queue_array_ptr = reinterpret_cast<u64>(ids.data());
    args.resume_queues.num_queues = static_cast<u32>(ids.size());
    return trap(client, args, tid);
  }
  int resume_all(Client& client, pid_t target, pid_t tid = 0) {
    abi::DbgTrapArgs args = op(target, abi::dbg_resume_queues);
    return trap(client, args, tid);
  }
  int query(Client& client, pid_t target, u64 clear, abi::DbgQueryDebugEventArgs* out) {
    abi::DbgTrapArgs args = op(target, abi::dbg_query_debug_event);
    args.query_debug_event.exception_mask = clear;
    const int result = trap(client, args);
    *out = args.query_debug_event;
    return result;
  }
  std::string drain_pipe() {
    char bytes[64];
    const ssize_t got = ::read(pipe_[0], bytes, sizeof(bytes));
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : "";
  }
  // A process that debugs itself, with its runtime enabled. Real, because the pid is looked up.
  std::unique_ptr<Client> self_debugged(u64 mask = 0) {
    auto client = std::make_unique<Client>(*driver, getpid());
    EXPECT_EQ(enable_runtime(*client), 0);
    EXPECT_EQ(enable(*client, getpid(), mask), 0);
    return client;
  }

  int pipe_[2] = {-1, -1};
};

// ---- sessions ----

TEST_F(Debug, EnableReportsTheRuntime) {
  Client self(*driver, getpid());
  abi::RuntimeInfo info = {9, 9, 9};
  EXPECT_EQ(enable(self, getpid(), 0, &info), 0);
  EXPECT_EQ(info.runtime_state, abi::runtime_disabled);
  EXPECT_EQ(disable(self, getpid()), 0);
  EXPECT_EQ(enable_runtime(self, 3), 0);
  EXPECT_EQ(enable(self, getpid(), 0, &info), 0);
  EXPECT_EQ(info.runtime_state, abi::runtime_enabled);
  EXPECT_EQ(info.r_debug, 0x1234u);
  EXPECT_EQ(info.ttmp_setup, 1u);
}

TEST_F(Debug, SecondEnableIsAlready) {
  const auto self = self_debugged();
  EXPECT_EQ(enable(*self, getpid()), -EALREADY);
  EXPECT_EQ(disable(*self, getpid()), 0);
  EXPECT_EQ(enable(*self, getpid()), 0);
}

TEST_F(Debug, EnableWithoutAPipe) {
  Client self(*driver, getpid());
  abi::DbgTrapArgs args = op(getpid(), abi::dbg_enable);
  EXPECT_EQ(trap(self, args), -EBADF);
}

TEST_F(Debug, EnableWithABadInfoPointer) {
  Client self(*driver, getpid());
  abi::DbgTrapArgs args = op(getpid(), abi::dbg_enable);
  args.enable.rinfo_size = 16;
  Caller caller = self.make_caller();
  caller.passed_fd.reset(dup(pipe_[1]));
  EXPECT_EQ(self.call_as(caller, self.file(), abi::kfd_dbg_trap, args), -EFAULT);
}

TEST_F(Debug, NoSuchTarget) {
  Client client(*driver);
  Child stranger;  // alive, but does not use the device
  abi::DbgTrapArgs args = op(5'999'999, abi::dbg_enable);
  EXPECT_EQ(trap(client, args), -ESRCH);
  args.pid = static_cast<u32>(stranger.pid());
  EXPECT_EQ(trap(client, args), -ESRCH);
  args.pid = 0;
  EXPECT_EQ(trap(client, args), -ESRCH);
}

TEST_F(Debug, OperationsNeedASession) {
  Client self(*driver, getpid());
  for (u32 number = abi::dbg_disable; number <= abi::dbg_get_device_snapshot; ++number) {
    abi::DbgTrapArgs args = op(getpid(), number);
    EXPECT_EQ(trap(self, args), -EINVAL) << number;
  }
}

TEST_F(Debug, HardwareOperationsNeedAnEnabledRuntime) {
  Client self(*driver, getpid());
  ASSERT_EQ(enable(self, getpid()), 0);
  for (const u32 number : {4u, 5u, 6u, 7u, 8u, 9u, 10u}) {
    abi::DbgTrapArgs args = op(getpid(), number);
    EXPECT_EQ(trap(self, args), -EPERM) << number;
  }
}

TEST_F(Debug, UnknownOperation) {
  const auto self = self_debugged();
  abi::DbgTrapArgs args = op(getpid(), 15);
  EXPECT_EQ(trap(*self, args), -EINVAL);
}

TEST_F(Debug, WhatTheDeviceCannotDoIsRefused) {
  const auto self = self_debugged();
  abi::DbgTrapArgs args = op(getpid(), abi::dbg_set_wave_launch_mode);
  EXPECT_EQ(trap(*self, args), 0) << "normal launch";
  args.launch_mode.launch_mode = 1;
  EXPECT_EQ(trap(*self, args), -EOPNOTSUPP);
  args.launch_mode.launch_mode = 2;
  EXPECT_EQ(trap(*self, args), -EINVAL);
  args = op(getpid(), abi::dbg_set_wave_launch_override);
  args.launch_override.support_request_mask = 1;
  EXPECT_EQ(trap(*self, args), -EACCES);
  EXPECT_EQ(args.launch_override.support_request_mask, 0u);
  args.launch_override.override_mode = 2;
  EXPECT_EQ(trap(*self, args), -EPERM);
  args = op(getpid(), abi::dbg_set_flags);
  EXPECT_EQ(trap(*self, args), 0);
  args.set_flags.flags = 1;
  EXPECT_EQ(trap(*self, args), -EACCES);
  args = op(getpid(), abi::dbg_set_node_address_watch);
  EXPECT_EQ(trap(*self, args), -ENODEV);
  args.set_address_watch.gpu_id = self->gpu_id();
  EXPECT_EQ(trap(*self, args), -ENOMEM);
  args = op(getpid(), abi::dbg_clear_node_address_watch);
  args.clear_address_watch.gpu_id = self->gpu_id();
  EXPECT_EQ(trap(*self, args), -EINVAL);
}

// ---- who may ----

TEST_F(Debug, StrangersAreRefusedWhateverTheyAre) {
  Child target;
  Client debuggee(*driver, target.pid()), stranger(*driver);
  EXPECT_EQ(enable(stranger, target.pid()), -EPERM);
}

TEST_F(Debug, OnlyTheTracingThreadMayDebug) {
  Child target;
  if (!target.seize()) {
    GTEST_SKIP() << "ptrace is not allowed here";
  }
  Client debuggee(*driver, target.pid());
  ASSERT_EQ(enable_runtime(debuggee), 0);
  const TestQueue queue = debuggee.create_queue();
  Client debugger(*driver, getpid());
  EXPECT_EQ(enable(debugger, target.pid(), 0, nullptr, gettid() + 1), -EPERM);
  EXPECT_EQ(enable(debugger, target.pid(), 0, nullptr, gettid()), 0);
  snapshot(debugger, target.pid(), kNewQueue, gettid());
  std::vector<u32> ids = {queue.id};
  EXPECT_EQ(suspend(debugger, target.pid(), ids, gettid() + 1), -EPERM);
  EXPECT_EQ(suspend(debugger, target.pid(), ids, gettid()), 1);
  EXPECT_EQ(state_of(target.pid(), queue.id), "suspended");

  // Letting go does not resume, and then only DISABLE is still allowed, to anybody.
  target.detach();
  ids = {queue.id};
  EXPECT_EQ(resume(debugger, target.pid(), ids, gettid()), -EPERM);
  EXPECT_EQ(state_of(target.pid(), queue.id), "suspended");
  Client anybody(*driver);
  EXPECT_EQ(disable(anybody, target.pid()), 0);
  EXPECT_NE(state_of(target.pid(), queue.id), "suspended");
}

TEST_F(Debug, NewerKernelsRememberTheDebuggingProcess) {
  DriverConfig config = small();
  config.ptrace_rule = PtraceRule::debugger_process;
  start(config);
  Child target;
  if (!target.seize()) {
    GTEST_SKIP() << "ptrace is not allowed here";
  }
  Client debuggee(*driver, target.pid());
  ASSERT_EQ(enable_runtime(debuggee), 0);
  const TestQueue queue = debuggee.create_queue();
  Client debugger(*driver, getpid());
  ASSERT_EQ(enable(debugger, target.pid(), 0, nullptr, gettid()), 0);
  target.detach();
  const pid_t other_thread = gettid() + 1;
  snapshot(debugger, target.pid(), kNewQueue, other_thread);
  std::vector<u32> ids = {queue.id};
  EXPECT_EQ(suspend(debugger, target.pid(), ids, other_thread), 1);
  EXPECT_EQ(resume_all(debugger, target.pid(), other_thread), 1);
  Client anybody(*driver);
  EXPECT_EQ(disable(anybody, target.pid()), -EPERM) << "no longer open to everybody";
  EXPECT_EQ(disable(debugger, target.pid(), other_thread), 0);
}

TEST_F(Debug, TracerMayEnableBeforeTheTargetOpensTheDevice) {
  Child target;
  if (!target.seize()) {
    GTEST_SKIP() << "ptrace is not allowed here";
  }
  Client debugger(*driver, getpid());
  EXPECT_EQ(enable(debugger, target.pid(), kRuntime, nullptr, gettid()), 0);
  EXPECT_EQ(
      read("/sys/class/kfd/kfd/proc/" + std::to_string(target.pid()) + "/pasid").find("error"),
      std::string::npos);
  // The runtime then waits for its debugger.
  Client debuggee(*driver, target.pid());
  auto blocked = std::async(std::launch::async, [&] { return enable_runtime(debuggee); });
  EXPECT_TRUE(eventually([&] { return drain_pipe() == "."; }));
  abi::DbgTrapArgs answer = op(target.pid(), abi::dbg_send_runtime_event);
  answer.send_runtime_event.exception_mask = kRuntime;
  EXPECT_EQ(trap(debugger, answer, gettid()), 0);
  EXPECT_EQ(blocked.get(), 0);
}

TEST_F(Debug, ProcessMadeKnownByATracerIsForgottenWhenItDies) {
  Child target;
  if (!target.seize()) {
    GTEST_SKIP() << "ptrace is not allowed here";
  }
  Client debugger(*driver, getpid());
  ASSERT_EQ(enable(debugger, target.pid(), 0, nullptr, gettid()), 0);
  const std::string file = "/sys/class/kfd/kfd/proc/" + std::to_string(target.pid()) + "/pasid";
  target.kill();
  EXPECT_TRUE(eventually([&] { return read(file).starts_with("error"); }));
}

// ---- suspend and resume ----

TEST_F(Debug, NewQueueCannotBeSuspendedUntilSeen) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  std::vector<u32> ids = {queue.id};
  EXPECT_EQ(suspend(*self, getpid(), ids), 0);
  EXPECT_EQ(ids[0], queue.id | abi::kQueueInvalidMask);
  snapshot(*self, getpid(), kNewQueue);
  ids = {queue.id};
  EXPECT_EQ(suspend(*self, getpid(), ids), 1);
  EXPECT_EQ(ids[0], queue.id);
  EXPECT_EQ(state_of(getpid(), queue.id), "suspended");
}

TEST_F(Debug, SnapshotClearsOnlyWhatItCopies) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  abi::DbgTrapArgs count = op(getpid(), abi::dbg_get_queue_snapshot);
  count.queue_snapshot.exception_mask = kNewQueue;
  EXPECT_EQ(trap(*self, count), -EINVAL) << "an entry has a size";
  count.queue_snapshot.entry_size = 64;
  EXPECT_EQ(trap(*self, count), 0);
  EXPECT_EQ(count.queue_snapshot.count, 1u);
  const auto entries = snapshot(*self, getpid(), kNewQueue);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].exception_status, kNewQueue) << "asking for the number cleared nothing";
  EXPECT_EQ(entries[0].queue_id, queue.id);
  EXPECT_EQ(entries[0].gpu_id, self->gpu_id());
  EXPECT_EQ(entries[0].ring_base_address, queue.ring.va);
  EXPECT_EQ(entries[0].ring_size, queue.ring.size);
  EXPECT_EQ(entries[0].queue_type, u32{abi::queue_type_compute_aql});
  EXPECT_EQ(entries[0].ctx_save_restore_address, queue.save_area.va);
  EXPECT_EQ(snapshot(*self, getpid(), 0)[0].exception_status, 0u);
}

TEST_F(Debug, OneCallStopsManyQueuesWithOneUnmap) {
  const auto self = self_debugged();
  std::vector<u32> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(self->create_queue().id);
  }
  snapshot(*self, getpid(), kNewQueue);
  const u64 before = unmaps();
  EXPECT_EQ(suspend(*self, getpid(), ids), 5);
  EXPECT_EQ(unmaps(), before + 1);
  for (u32 id = 0; id < 5; ++id) {
    EXPECT_EQ(ids[id], id);
    EXPECT_EQ(state_of(getpid(), id), "suspended");
  }
  EXPECT_EQ(resume(*self, getpid(), ids), 5);
  EXPECT_NE(state_of(getpid(), 0), "suspended");
}

TEST_F(Debug, SuspendingTwiceCountsAndCosts) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue(), other = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {queue.id};
  ASSERT_EQ(suspend(*self, getpid(), ids), 1);
  const u64 before = unmaps();
  EXPECT_EQ(suspend(*self, getpid(), ids), 1);
  EXPECT_EQ(unmaps(), before + 1) << "the other queue was disturbed for nothing";
  EXPECT_NE(state_of(getpid(), other.id), "suspended");
}

TEST_F(Debug, StatusBitsOfUnknownAndMarkedEntries) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {99, queue.id, queue.id};
  EXPECT_EQ(suspend(*self, getpid(), ids), 1) << "the unknown one does not stop the rest";
  EXPECT_EQ(ids[0], 99 | abi::kQueueInvalidMask);
  EXPECT_EQ(ids[1], queue.id);
  EXPECT_EQ(ids[2], queue.id | abi::kQueueInvalidMask) << "only the first of two is matched";
  // An entry that still carries INVALID is found again; one with ERROR is not.
  ids = {queue.id | abi::kQueueInvalidMask, 99};
  EXPECT_EQ(resume(*self, getpid(), ids), 1);
  EXPECT_EQ(ids[0], queue.id);
  ids = {queue.id | abi::kQueueErrorMask};
  EXPECT_EQ(suspend(*self, getpid(), ids), 0);
  EXPECT_TRUE(ids[0] & abi::kQueueInvalidMask);
}

TEST_F(Debug, BadQueueArrays) {
  const auto self = self_debugged();
  abi::DbgTrapArgs args = op(getpid(), abi::dbg_suspend_queues);
  args.suspend_queues.num_queues = 1;
  EXPECT_EQ(trap(*self, args), -EINVAL) << "no array";
  args.suspend_queues.num_queues = 0;
  EXPECT_EQ(trap(*self, args), 0);
  std::vector<u32> ids(1025);
  EXPECT_EQ(suspend(*self, getpid(), ids), -EINVAL);
  EXPECT_EQ(resume(*self, getpid(), ids), -EINVAL);
  args.suspend_queues.num_queues = 1;
  args.suspend_queues.queue_array_ptr = 8;
  EXPECT_EQ(trap(*self, args), -EFAULT);
}

TEST_F(Debug, ResumeWithoutAnArrayResumesAll) {
  const auto self = self_debugged();
  std::vector<u32> ids = {self->create_queue().id, self->create_queue().id};
  snapshot(*self, getpid(), kNewQueue);
  ASSERT_EQ(suspend(*self, getpid(), ids), 2);
  EXPECT_EQ(resume_all(*self, getpid()), 2);
  EXPECT_NE(state_of(getpid(), 0), "suspended");
  EXPECT_NE(state_of(getpid(), 1), "suspended");
  EXPECT_EQ(resume_all(*self, getpid()), 2) << "counts also what was not suspended";
}

TEST_F(Debug, SuspendClearsExceptionsOnSuccess) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  abi::DbgTrapArgs args = op(getpid(), abi::dbg_suspend_queues);
  u32 id = queue.id;
  args.suspend_queues.exception_mask = ~u64{0};
  args.suspend_queues.queue_array_ptr = reinterpret_cast<u64>(&id);
  args.suspend_queues.num_queues = 1;
  EXPECT_EQ(trap(*self, args), 1);
  EXPECT_EQ(snapshot(*self, getpid(), 0)[0].exception_status, 0u);
}

TEST_F(Debug, NewQueueOfASuspendedProcessRuns) {
  const auto self = self_debugged();
  const TestQueue first = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {first.id};
  ASSERT_EQ(suspend(*self, getpid(), ids), 1);
  const TestQueue second = self->create_queue();
  EXPECT_TRUE(eventually([&] { return state_of(getpid(), second.id) == "mapped"; }));
  EXPECT_EQ(state_of(getpid(), first.id), "suspended");
}

TEST_F(Debug, UpdateOfASuspendedQueueOnlyRecords) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {queue.id};
  ASSERT_EQ(suspend(*self, getpid(), ids), 1);
  EXPECT_EQ(self->update_queue(queue, 100, 15), 0);
  EXPECT_EQ(state_of(getpid(), queue.id), "suspended");
  EXPECT_EQ(self->update_queue(queue, 0), 0);
  EXPECT_EQ(resume_all(*self, getpid()), 1);
  EXPECT_EQ(state_of(getpid(), queue.id), "inactive") << "it was stopped meanwhile";
}

TEST_F(Debug, EvictionAndSuspensionAreIndependent) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {queue.id};
  const std::string pid = std::to_string(getpid());
  ASSERT_EQ(suspend(*self, getpid(), ids), 1);
  ASSERT_TRUE(driver->inject("evict=" + pid));
  ASSERT_TRUE(driver->inject("restore=" + pid));
  EXPECT_EQ(state_of(getpid(), queue.id), "suspended");
  ASSERT_TRUE(driver->inject("evict=" + pid));
  EXPECT_EQ(resume(*self, getpid(), ids), 1);
  EXPECT_EQ(state_of(getpid(), queue.id), "evicted");
  ASSERT_TRUE(driver->inject("restore=" + pid));
  EXPECT_TRUE(eventually([&] { return state_of(getpid(), queue.id) == "mapped"; }));
}

TEST_F(Debug, DestroyOfASuspendedQueueWaitsForResume) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {queue.id};
  ASSERT_EQ(suspend(*self, getpid(), ids), 1);
  auto destroyed = std::async(std::launch::async, [&] { return self->destroy_queue(queue.id); });
  EXPECT_EQ(destroyed.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_NE(state_of(getpid(), queue.id), "none");
  EXPECT_EQ(resume_all(*self, getpid()), 1);
  EXPECT_EQ(destroyed.get(), 0);
  EXPECT_EQ(state_of(getpid(), queue.id), "none");
}

TEST_F(Debug, DisableLetsABlockedDestroyGo) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {queue.id};
  ASSERT_EQ(suspend(*self, getpid(), ids), 1);
  auto destroyed = std::async(std::launch::async, [&] { return self->destroy_queue(queue.id); });
  EXPECT_EQ(disable(*self, getpid()), 0);
  EXPECT_EQ(destroyed.get(), 0);
}

TEST_F(Debug, FailedSuspendHasErrorBitsAndNoRollback) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  ASSERT_TRUE(driver->inject("suspend-fails"));
  std::vector<u32> ids = {queue.id};
  EXPECT_EQ(suspend(*self, getpid(), ids), 0);
  EXPECT_EQ(ids[0], queue.id | abi::kQueueErrorMask);
  EXPECT_EQ(state_of(getpid(), queue.id), "suspended");
  ids = {queue.id};
  EXPECT_EQ(resume(*self, getpid(), ids), 1);
  EXPECT_TRUE(eventually([&] { return state_of(getpid(), queue.id) == "mapped"; }));
  EXPECT_EQ(suspend(*self, getpid(), ids), 1) << "only one was to fail";
}

TEST_F(Debug, SaveAreaHeadersAreWritten) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {queue.id};
  ASSERT_EQ(suspend(*self, getpid(), ids), 1);
  const auto* header = queue.save_area.as<abi::ContextSaveAreaHeader>();
  EXPECT_EQ(header->control_stack_offset + header->control_stack_size, queue.args.ctl_stack_size);
  EXPECT_EQ(header->wave_state_offset - header->wave_state_size, queue.args.ctl_stack_size);
}

// ---- exceptions ----

TEST_F(Debug, QueueCreationAndDeletionAreReported) {
  const auto self = self_debugged(kNewQueue | kQueueDelete);
  const TestQueue queue = self->create_queue();
  EXPECT_EQ(drain_pipe(), ".");
  abi::DbgQueryDebugEventArgs event = {};
  EXPECT_EQ(query(*self, getpid(), kNewQueue, &event), 0);
  EXPECT_EQ(event.exception_mask, kNewQueue);
  EXPECT_EQ(event.queue_id, queue.id);
  EXPECT_EQ(event.gpu_id, self->gpu_id());
  EXPECT_EQ(query(*self, getpid(), 0, &event), -EAGAIN);
  EXPECT_EQ(self->destroy_queue(queue.id), 0);
  EXPECT_EQ(drain_pipe(), ".");
  EXPECT_EQ(query(*self, getpid(), kQueueDelete, &event), 0);
  EXPECT_EQ(event.exception_mask, kQueueDelete);
  EXPECT_EQ(event.gpu_id, self->gpu_id());
}

TEST_F(Debug, SubscribingLaterReportsWhatIsPending) {
  const auto self = self_debugged();
  self->create_queue();
  EXPECT_EQ(drain_pipe(), "");
  abi::DbgTrapArgs args = op(getpid(), abi::dbg_set_exceptions_enabled);
  args.set_exceptions_enabled.exception_mask = kNewQueue;
  EXPECT_EQ(trap(*self, args), 0);
  EXPECT_EQ(drain_pipe(), ".");
}

TEST_F(Debug, AFullPipeDoesNotBlockTheDriver) {
  const auto self = self_debugged(kNewQueue);
  const std::string junk(1 << 20, 'x');
  while (write(pipe_[1], junk.data(), junk.size()) > 0) {
  }
  EXPECT_EQ(self->create_queue().id, 0u);
}

TEST_F(Debug, ExceptionInfo) {
  const auto self = self_debugged(kRuntime);
  const TestQueue queue = self->create_queue();
  u64 info[8] = {};
  abi::DbgTrapArgs args = op(getpid(), abi::dbg_query_exception_info);
  const auto ask = [&](u32 code, u32 source) {
    args.query_exception_info = {.info_ptr = reinterpret_cast<u64>(info),
                                 .info_size = sizeof(info),
                                 .source_id = source,
                                 .exception_code = code,
                                 .clear_exception = 1};
    return trap(*self, args);
  };
  EXPECT_EQ(ask(abi::ec_queue_new, queue.id), 0);
  EXPECT_EQ(ask(abi::ec_queue_new, queue.id), -ENODATA) << "cleared";
  EXPECT_EQ(ask(abi::ec_queue_new, 99), -EINVAL);
  EXPECT_EQ(ask(abi::ec_device_memory_violation, self->gpu_id()), -ENODATA);
  EXPECT_EQ(ask(abi::ec_device_memory_violation, 1), -EINVAL);
  EXPECT_EQ(ask(abi::ec_process_runtime, 0), -ENODATA);
  EXPECT_EQ(ask(0, 0), -EINVAL);
  EXPECT_EQ(ask(60, 0), -EINVAL);
  args.query_exception_info.info_ptr = 0;
  EXPECT_EQ(trap(*self, args), -EINVAL);
}

TEST_F(Debug, DeviceSnapshot) {
  const auto self = self_debugged();
  abi::DeviceSnapshotEntry entry = {};
  abi::DbgTrapArgs args = op(getpid(), abi::dbg_get_device_snapshot);
  EXPECT_EQ(trap(*self, args), -EINVAL);
  args.device_snapshot.snapshot_buf_ptr = reinterpret_cast<u64>(&entry);
  args.device_snapshot.entry_size = sizeof(entry);
  args.device_snapshot.count = 1;
  EXPECT_EQ(trap(*self, args), 0);
  EXPECT_EQ(args.device_snapshot.count, 1u);
  EXPECT_EQ(entry.gpu_id, self->gpu_id());
  EXPECT_EQ(entry.gfx_target_version, 90010u);
  EXPECT_EQ(entry.device_id, 0x740fu);
  EXPECT_EQ(entry.num_xcc, 1u);
  EXPECT_TRUE(entry.capability & abi::cap_trap_debug_support);
}

// ---- RUNTIME_ENABLE ----

TEST_F(Debug, RuntimeIsEnabledOnceAndBeforeAnyQueue) {
  Client client(*driver);
  EXPECT_EQ(enable_runtime(client), 0);
  EXPECT_EQ(enable_runtime(client), -EBUSY);
  EXPECT_EQ(enable_runtime(client, 0), 0);
  client.create_queue();
  EXPECT_EQ(enable_runtime(client), -EEXIST);
}

TEST_F(Debug, RuntimeDisableWaitsForTheDebugger) {
  const auto self = self_debugged(kRuntime);
  auto blocked = std::async(std::launch::async, [&] { return enable_runtime(*self, 0); });
  EXPECT_TRUE(eventually([&] { return drain_pipe() == "."; }));
  EXPECT_EQ(blocked.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  abi::DbgTrapArgs answer = op(getpid(), abi::dbg_send_runtime_event);
  answer.send_runtime_event.exception_mask = kRuntime;
  EXPECT_EQ(trap(*self, answer), 0);
  EXPECT_EQ(blocked.get(), 0);
}

TEST_F(Debug, RuntimeDisableResumesSuspendedQueues) {
  const auto self = self_debugged();
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {queue.id};
  ASSERT_EQ(suspend(*self, getpid(), ids), 1);
  ASSERT_EQ(disable(*self, getpid()), 0);
  EXPECT_NE(state_of(getpid(), queue.id), "suspended");
}

TEST_F(Debug, SendRuntimeEventToAnUnknownGpu) {
  const auto self = self_debugged();
  abi::DbgTrapArgs args = op(getpid(), abi::dbg_send_runtime_event);
  args.send_runtime_event.exception_mask = abi::ec_mask(abi::ec_device_memory_violation);
  args.send_runtime_event.gpu_id = 1;
  EXPECT_EQ(trap(*self, args), -ENODEV);
}

// ---- devices that can debug only one process ----

TEST_F(Debug, Mi50DebugsOneProcessAtATime) {
  DriverConfig config = small();
  config.profile = "mi50";
  start(config);
  Child second_target;
  if (!second_target.seize()) {
    GTEST_SKIP() << "ptrace is not allowed here";
  }
  const auto self = self_debugged();
  Client second(*driver, second_target.pid());
  ASSERT_EQ(enable_runtime(second), 0);
  abi::RuntimeInfo info = {};
  EXPECT_EQ(enable(*self, second_target.pid(), 0, &info, gettid()), 0)
      << "the call succeeds; the state tells";
  EXPECT_EQ(info.runtime_state, abi::runtime_enabled_busy);
  EXPECT_EQ(disable(*self, second_target.pid(), gettid()), 0);
  EXPECT_EQ(disable(*self, getpid()), 0);
  EXPECT_EQ(enable(*self, second_target.pid(), 0, &info, gettid()), 0);
  EXPECT_EQ(info.runtime_state, abi::runtime_enabled);
}

// ---- death ----

TEST_F(Debug, EndOfTheDebuggerResumesItsTargets) {
  Child target;
  if (!target.seize()) {
    GTEST_SKIP() << "ptrace is not allowed here";
  }
  Client debuggee(*driver, target.pid());
  ASSERT_EQ(enable_runtime(debuggee), 0);
  const TestQueue queue = debuggee.create_queue();
  Client debugger(*driver, getpid());
  ASSERT_EQ(enable(debugger, target.pid(), 0, nullptr, gettid()), 0);
  snapshot(debugger, target.pid(), kNewQueue, gettid());
  std::vector<u32> ids = {queue.id};
  ASSERT_EQ(suspend(debugger, target.pid(), ids, gettid()), 1);
  debugger.exit();
  EXPECT_NE(state_of(target.pid(), queue.id), "suspended");
  Client again(*driver, getpid());
  EXPECT_EQ(enable(again, target.pid(), 0, nullptr, gettid()), 0) << "free for another debugger";
}

TEST_F(Debug, EndOfTheTargetUnblocksItsCalls) {
  auto self = self_debugged(kRuntime);
  const TestQueue queue = self->create_queue();
  snapshot(*self, getpid(), kNewQueue);
  std::vector<u32> ids = {queue.id};
  ASSERT_EQ(suspend(*self, getpid(), ids), 1);
  auto destroyed = std::async(std::launch::async, [&] { return self->destroy_queue(queue.id); });
  self->exit();
  const int result = destroyed.get();
  EXPECT_TRUE(result == -EINTR || result == -EBADF || result == -EINVAL || result == 0) << result;
  EXPECT_TRUE(driver->stats().queues.empty());
}

}  // namespace
}  // namespace vgpu::driver
