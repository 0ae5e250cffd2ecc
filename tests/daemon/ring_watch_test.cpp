// Readers of rings: what the loop is told of them, and what a process can do to them.
#include "daemon/ring_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "mechanism/target_process.h"
#include "support/eventually.h"

namespace gp::daemon {
namespace {

using sched::ProcessId;

constexpr Payer kAlice{1000, 0}, kBob{1001, 0};

// A process that can be named, and ends when the test wants it to.
class Sleeper {
 public:
  Sleeper() {
    pid_ = ::fork();
    if (pid_ == 0) {
      for (;;) {
        ::pause();
      }
    }
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { end(); }
  void end() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }
  ProcessKey key() const { return {pid_, mechanism::process_state(pid_)->start_time}; }

 private:
  pid_t pid_;
};

// What is read instead of the memory of processes: one queue for each pid.
class Memory {
 public:
  Result<std::vector<discover::Ring>> find(pid_t pid) {
    const std::lock_guard lock(mutex_);
    ++found_;
    if (error_ != 0) {
      return Error{error_, "mqds", ""};
    }
    return std::vector<discover::Ring>{{1, 0x10000, 4096, 0x2000, static_cast<u64>(pid) << 16}};
  }
  ssize_t read(pid_t pid, std::span<const iovec> to) {
    std::unique_lock lock(mutex_);
    ++reads_;
    changed_.wait(lock, [&] { return pid != blocked_; });
    if (read_error_ != 0) {
      errno = read_error_;
      return -1;
    }
    const u64 indices[] = {0, written_[pid]};
    std::memcpy(to[0].iov_base, indices, std::min(to[0].iov_len, sizeof indices));
    return static_cast<ssize_t>(to[0].iov_len);
  }

  void set_written(pid_t pid, u64 index) {
    const std::lock_guard lock(mutex_);
    written_[pid] = index;
  }
  void block(pid_t pid) {
    const std::lock_guard lock(mutex_);
    blocked_ = pid;
    changed_.notify_all();
  }
  void fail_find(int error) {
    const std::lock_guard lock(mutex_);
    error_ = error;
  }
  void fail_read(int error) {
    const std::lock_guard lock(mutex_);
    read_error_ = error;
  }
  u64 reads() {
    const std::lock_guard lock(mutex_);
    return reads_;
  }
  u64 found() {
    const std::lock_guard lock(mutex_);
    return found_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<pid_t, u64> written_;
  pid_t blocked_ = 0;
  int error_ = 0, read_error_ = 0;
  u64 reads_ = 0, found_ = 0;
};

class RingWatchTest : public ::testing::Test {
 protected:
  RingWatch::Target target(ProcessId id, const Sleeper& sleeper, const Payer& payer = kAlice) {
    return {id, sleeper.key(), payer};
  }
  void watch(const std::vector<RingWatch::Target>& targets) {
    rings->watch(targets, {200'000, false});
  }
  // Runs the loop until it is so.
  template <class Condition>
  bool becomes(Condition condition) {
    return eventually([&] {
      loop->set_timer(monotonic_ns() + 1'000'000);
      return condition() || (loop->run_once() && condition());
    });
  }
  bool is_busy(ProcessId id) {
    const auto activity = rings->activity(id);
    return activity && activity->busy;
  }
  bool is_idle(ProcessId id) {
    const auto activity = rings->activity(id);
    return activity && !activity->busy;
  }

  std::unique_ptr<Loop> loop = std::move(*Loop::create());
  // Kept by readers, who may outlive the test.
  std::shared_ptr<Memory> memory = std::make_shared<Memory>();
  std::map<ProcessId, int> changes;
  std::map<ProcessId, std::string> lost;
  std::unique_ptr<RingWatch> rings = std::make_unique<RingWatch>(
      *loop,
      RingWatch::Handlers{[this](ProcessId id) { ++changes[id]; },
                          [this](ProcessId id, const std::string& why) { lost[id] = why; }},
      RingWatch::Sources{
          [memory = memory](pid_t pid) { return memory->find(pid); },
          [memory = memory](pid_t pid, std::span<const iovec> to, std::span<const iovec>) {
            return memory->read(pid, to);
          }});
};

TEST_F(RingWatchTest, TellsTheLoopOfWorkAndOfItsEnd) {
  const Sleeper sleeper;
  watch({target(1, sleeper)});
  ASSERT_TRUE(becomes([&] { return changes[1] == 1; }));
  EXPECT_TRUE(is_idle(1));
  memory->set_written(sleeper.key().pid, 3);
  ASSERT_TRUE(becomes([&] { return changes[1] == 2; }));
  EXPECT_TRUE(is_busy(1));
  EXPECT_NE(rings->activity(1)->busy_since_ns, 0U);
  memory->set_written(sleeper.key().pid, 0);
  ASSERT_TRUE(becomes([&] { return changes[1] == 3; }));
  EXPECT_TRUE(is_idle(1));
}

TEST_F(RingWatchTest, NothingIsReadOnceNobodyIsWatched) {
  const Sleeper sleeper;
  watch({target(1, sleeper)});
  ASSERT_TRUE(becomes([&] { return changes[1] == 1; }));
  watch({});
  EXPECT_EQ(lost.at(1), "");
  EXPECT_FALSE(rings->activity(1));
  // Its reader ends: a new one looks for the rings again.
  const u64 found = memory->found();
  ASSERT_TRUE(eventually([&] {
    const u64 before = memory->reads();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return memory->reads() == before;
  }));
  watch({target(1, sleeper)});
  EXPECT_TRUE(becomes([&] { return is_idle(1); }));
  EXPECT_GT(memory->found(), found);
}

TEST_F(RingWatchTest, LooksForTheRingsAgainWhenQueuesHaveChanged) {
  const Sleeper sleeper;
  watch({target(1, sleeper)});
  ASSERT_TRUE(becomes([&] { return changes[1] == 1; }));
  const u64 found = memory->found();
  watch({target(1, sleeper)});  // who is watched already is not looked for again
  rings->queues_changed(2);
  EXPECT_EQ(memory->found(), found);
  rings->queues_changed(1);
  EXPECT_TRUE(becomes([&] { return memory->found() == found + 1; }));
}

TEST_F(RingWatchTest, SaysWhyAProcessCannotBeWatchedAndTriesAgainWhenItHasOtherQueues) {
  const Sleeper sleeper;
  memory->fail_find(EACCES);
  watch({target(1, sleeper)});
  ASSERT_TRUE(becomes([&] { return lost.contains(1); }));
  EXPECT_NE(lost.at(1).find("Permission denied"), std::string::npos);
  EXPECT_FALSE(rings->activity(1));
  memory->fail_find(0);
  rings->queues_changed(1);
  EXPECT_TRUE(becomes([&] { return is_idle(1); }));
}

TEST_F(RingWatchTest, WhatCannotBeReadAnyMoreIsNotBusy) {
  const Sleeper sleeper;
  memory->set_written(sleeper.key().pid, 1);
  watch({target(1, sleeper)});
  ASSERT_TRUE(becomes([&] { return is_busy(1); }));
  memory->fail_read(EPERM);
  ASSERT_TRUE(becomes([&] { return lost.contains(1); }));
  EXPECT_FALSE(rings->activity(1));
}

// Its pid may be another's by then.
TEST_F(RingWatchTest, WhatIsReadAfterTheEndOfAProcessIsNotItsOwn) {
  Sleeper sleeper;
  const pid_t pid = sleeper.key().pid;
  watch({target(1, sleeper)});
  ASSERT_TRUE(becomes([&] { return changes[1] == 1; }));
  sleeper.end();
  memory->set_written(pid, 1);
  const u64 before = memory->reads();
  ASSERT_TRUE(eventually([&] { return memory->reads() > before + 2; }));
  EXPECT_TRUE(is_idle(1));
  EXPECT_EQ(changes[1], 1);
}

TEST_F(RingWatchTest, AProcessThatHasEndedBeforeIsNotWatched) {
  Sleeper sleeper;
  const auto gone = target(1, sleeper);
  sleeper.end();
  watch({gone});
  EXPECT_TRUE(becomes([&] { return lost.contains(1); }));
  EXPECT_EQ(memory->reads(), 0U);
}

TEST_F(RingWatchTest, WhoMakesTheirReaderWaitIsAlone) {
  const Sleeper slow, other;
  const pid_t pid = slow.key().pid;
  memory->block(pid);
  watch({target(1, slow, kAlice), target(2, other, kBob)});
  ASSERT_TRUE(becomes([&] { return is_idle(2); }));
  memory->set_written(other.key().pid, 1);
  EXPECT_TRUE(becomes([&] { return is_busy(2); }));
  EXPECT_FALSE(rings->activity(1));
  // It has the same reader for as long as that waits.
  watch({target(2, other, kBob)});
  watch({target(1, slow, kAlice), target(2, other, kBob)});
  memory->block(0);
  EXPECT_TRUE(becomes([&] { return is_idle(1); }));
}

TEST_F(RingWatchTest, EndsThoughAReaderHangs) {
  const Sleeper slow;
  memory->block(slow.key().pid);
  watch({target(1, slow)});
  ASSERT_TRUE(eventually([&] { return memory->reads() != 0; }));
  rings.reset();
  memory->block(0);
  EXPECT_EQ(changes[1], 0);
}

}  // namespace
}  // namespace gp::daemon
