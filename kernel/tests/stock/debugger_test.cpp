// Who may debug whom, and what SUSPEND_QUEUES makes of its arguments, in amdkfd of Linux 6.12.95.
// There is no GPU, hence no queue: ids come back marked as invalid, but every check before that is
// the real one. The rules for other processes differ from 6.12.107 on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <vector>

#include "kfd/calls.h"
#include "support.h"

namespace gp::stock {
namespace {

constexpr u32 kGrace = 1;

// A debugger gets its events by a pipe that must not block.
class EventPipe {
 public:
  EventPipe() { EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK), 0); }
  ~EventPipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  EventPipe(const EventPipe&) = delete;
  EventPipe& operator=(const EventPipe&) = delete;
  int in() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{};
};

int enable(const Kfd& kfd, pid_t pid, const EventPipe& events) {
  abi::RuntimeInfo runtime{};
  return kfd::debug_enable(kfd.channel(), pid, 0, events.in(), runtime);
}

int suspend_one(const Kfd& kfd, pid_t pid) {
  u32 id = 0;
  return kfd::debug_suspend_queues(kfd.channel(), pid, &id, 1, kGrace);
}

// SUSPEND_QUEUES with arguments the library would not send.
int suspend_raw(const Kfd& kfd, u64 ids, u32 count) {
  abi::DbgTrapArgs args{};
  args.pid = static_cast<u32>(getpid());
  args.op = abi::dbg_suspend_queues;
  args.suspend_queues.queue_array_ptr = ids;
  args.suspend_queues.num_queues = count;
  args.suspend_queues.grace_period = kGrace;
  return kfd.call(abi::kfd_dbg_trap, args);
}

TEST(SelfDebug, SuspendNeedsDebugModeAndThenTheRuntime) {
  in_own_process([] {
    const Kfd kfd;
    const EventPipe events;
    u32 id = 5;
    EXPECT_EQ(kfd::debug_suspend_queues(kfd.channel(), getpid(), &id, 1, kGrace), -EINVAL);
    EXPECT_EQ(id, 5u);
    EXPECT_EQ(enable(kfd, getpid(), events), 0);
    EXPECT_EQ(suspend_one(kfd, getpid()), -EPERM);
  });
}

TEST(SelfDebug, NeedsNoPtrace) {
  in_own_process([] {
    const Kfd kfd;
    const EventPipe events;
    abi::RuntimeInfo runtime{};
    EXPECT_EQ(kfd::enable_runtime(kfd.channel()), 0);
    EXPECT_EQ(kfd::enable_runtime(kfd.channel()), -EBUSY);
    EXPECT_EQ(kfd::debug_enable(kfd.channel(), getpid(), 0, events.in(), runtime), 0);
    EXPECT_EQ(runtime.runtime_state, u32{abi::runtime_enabled});
    EXPECT_EQ(enable(kfd, getpid(), events), -EALREADY);
    EXPECT_EQ(suspend_one(kfd, getpid()), 0);
    EXPECT_EQ(kfd::debug_disable(kfd.channel(), getpid()), 0);
    EXPECT_EQ(suspend_one(kfd, getpid()), -EINVAL);
  });
}

TEST(SelfDebug, AnEventFileMustBeOpen) {
  in_own_process([] {
    const Kfd kfd;
    abi::RuntimeInfo runtime{};
    EXPECT_EQ(kfd::debug_enable(kfd.channel(), getpid(), 0, 999, runtime), -EBADF);
  });
}

void with_debug_mode(const std::function<void(const Kfd&)>& body) {
  in_own_process([&body] {
    const Kfd kfd;
    const EventPipe events;
    ASSERT_EQ(kfd::enable_runtime(kfd.channel()), 0);
    ASSERT_EQ(enable(kfd, getpid(), events), 0);
    body(kfd);
  });
}

TEST(SelfDebug, UnknownIdsAreMarkedAndNotAnError) {
  with_debug_mode([](const Kfd& kfd) {
    for (const u32 id : {0u, 7u, 0x3ffu}) {
      u32 marked = id;
      EXPECT_EQ(kfd::debug_suspend_queues(kfd.channel(), getpid(), &marked, 1, kGrace), 0);
      EXPECT_EQ(marked, id | abi::kQueueInvalidMask);
      marked = id;
      EXPECT_EQ(kfd::debug_resume_queues(kfd.channel(), getpid(), &marked, 1), 0);
      EXPECT_EQ(marked, id | abi::kQueueInvalidMask);
    }
    EXPECT_EQ(kfd::debug_resume_all(kfd.channel(), getpid()), 0);
  });
}

// get_queue_ids(), kfd_device_queue_manager.c:3195
TEST(SelfDebug, ListsAreCheckedForLengthAndAddress) {
  with_debug_mode([](const Kfd& kfd) {
    std::vector<u32> ids(abi::kMaxQueuesPerProcess + 1);
    const u64 address = reinterpret_cast<u64>(ids.data());
    EXPECT_EQ(suspend_raw(kfd, 0, 0), 0);
    EXPECT_EQ(suspend_raw(kfd, 0, 2), -EINVAL);
    EXPECT_EQ(suspend_raw(kfd, 8, 2), -EFAULT);
    EXPECT_EQ(suspend_raw(kfd, address, abi::kMaxQueuesPerProcess), 0);
    EXPECT_EQ(suspend_raw(kfd, address, abi::kMaxQueuesPerProcess + 1), -EINVAL);
  });
}

TEST(SelfDebug, SnapshotsSayHowLargeTheirEntriesAre) {
  with_debug_mode([](const Kfd& kfd) {
    u32 count = 4;
    std::array<abi::QueueSnapshotEntry, 4> entries{};
    EXPECT_EQ(kfd::debug_queue_snapshot(kfd.channel(), getpid(), 0, entries.data(), &count), 0);
    EXPECT_EQ(count, 0u);
    abi::DbgTrapArgs args{};
    args.pid = static_cast<u32>(getpid());
    args.op = abi::dbg_get_device_snapshot;
    std::array<u8, 1000> room{};
    args.device_snapshot.snapshot_buf_ptr = reinterpret_cast<u64>(room.data());
    args.device_snapshot.count = 1;
    args.device_snapshot.entry_size = room.size();
    EXPECT_EQ(kfd.call(abi::kfd_dbg_trap, args), 0);
    EXPECT_EQ(args.device_snapshot.count, 0u);
    EXPECT_EQ(args.device_snapshot.entry_size, sizeof(abi::DeviceSnapshotEntry));
    args.op = abi::dbg_get_queue_snapshot;
    args.queue_snapshot.count = 1;
    args.queue_snapshot.entry_size = room.size();
    EXPECT_EQ(kfd.call(abi::kfd_dbg_trap, args), 0);
    EXPECT_EQ(args.queue_snapshot.entry_size, sizeof(abi::QueueSnapshotEntry));
  });
}

TEST(Debugger, ProcessesWithoutKfdAreNotFound) {
  const Kfd kfd;
  const Victim plain(Victim::Uses::nothing);
  EXPECT_EQ(suspend_one(kfd, plain.pid()), -ESRCH);
  EXPECT_EQ(suspend_one(kfd, 1), -ESRCH);
  EXPECT_EQ(suspend_one(kfd, 999999), -ESRCH);
}

// kfd_chardev.c:2978-2984. Neither root nor CAP_SYS_PTRACE replaces being the tracer.
TEST(Debugger, MustBeTheTracer) {
  const Kfd kfd;
  const EventPipe events;
  const Victim victim(Victim::Uses::kfd_with_runtime);
  EXPECT_EQ(enable(kfd, victim.pid(), events), -EPERM);
  EXPECT_EQ(suspend_one(kfd, victim.pid()), -EPERM);
  ASSERT_EQ(victim.seize(), 0);
  EXPECT_EQ(suspend_one(kfd, victim.pid()), -EINVAL);  // debug mode is off
  EXPECT_EQ(enable(kfd, victim.pid(), events), 0);
  EXPECT_EQ(suspend_one(kfd, victim.pid()), 0);
  EXPECT_EQ(kfd::debug_resume_all(kfd.channel(), victim.pid()), 0);
  EXPECT_EQ(kfd::debug_disable(kfd.channel(), victim.pid()), 0);
}

TEST(Debugger, MustBeTheTracingThread) {
  const Kfd kfd;
  const EventPipe events;
  const Victim victim(Victim::Uses::kfd_with_runtime);
  ASSERT_EQ(victim.seize(), 0);
  ASSERT_EQ(enable(kfd, victim.pid(), events), 0);
  std::thread([&] { EXPECT_EQ(suspend_one(kfd, victim.pid()), -EPERM); }).join();
  EXPECT_EQ(suspend_one(kfd, victim.pid()), 0);
}

TEST(Debugger, LosesTheRightWithTheTracingThread) {
  const Kfd kfd;
  const EventPipe events;
  const Victim victim(Victim::Uses::kfd_with_runtime);
  std::thread([&] {
    ASSERT_EQ(victim.seize(), 0);
    EXPECT_EQ(enable(kfd, victim.pid(), events), 0);
    EXPECT_EQ(suspend_one(kfd, victim.pid()), 0);
  }).join();
  EXPECT_EQ(suspend_one(kfd, victim.pid()), -EPERM);
}

TEST(Debugger, CannotSuspendAProcessWithoutRuntime) {
  const Kfd kfd;
  const EventPipe events;
  const Victim victim(Victim::Uses::kfd);
  ASSERT_EQ(victim.seize(), 0);
  EXPECT_EQ(enable(kfd, victim.pid(), events), 0);
  EXPECT_EQ(suspend_one(kfd, victim.pid()), -EPERM);
}

TEST(Debugger, AttachesToATraceeThatHasNotOpenedTheDevice) {
  const Kfd kfd;
  const EventPipe events;
  const Victim plain(Victim::Uses::nothing);
  EXPECT_EQ(enable(kfd, plain.pid(), events), -ESRCH);
  ASSERT_EQ(plain.seize(), 0);
  EXPECT_EQ(enable(kfd, plain.pid(), events), 0);
}

// DISABLE is exempt from the check (kfd_chardev.c:2980): anybody ends anybody's session.
TEST(Debugger, CanBeSwitchedOffByAnybody) {
  const Kfd kfd;
  const EventPipe events;
  const Victim victim(Victim::Uses::kfd_with_runtime);
  EXPECT_EQ(kfd::debug_disable(kfd.channel(), victim.pid()), -EINVAL);  // debug mode is off
  ASSERT_EQ(victim.seize(), 0);
  ASSERT_EQ(enable(kfd, victim.pid(), events), 0);
  in_own_process([&victim] {
    const Kfd strangers;
    EXPECT_EQ(kfd::debug_disable(strangers.channel(), victim.pid()), 0);
  });
  EXPECT_EQ(suspend_one(kfd, victim.pid()), -EINVAL);
}

}  // namespace
}  // namespace gp::stock
