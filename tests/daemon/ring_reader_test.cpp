// Whether a process has work, by its rings. They are made in the test's own memory, which it may
// read as it may that of others.
#include "daemon/ring_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "abi/aql.h"

namespace gp::daemon {
namespace {

constexpr u64 kPackets = 64;

// A queue as ROCr makes it, on a page of its own.
class MadeQueue {
 public:
  MadeQueue() = default;
  MadeQueue(const MadeQueue&) = delete;
  MadeQueue& operator=(const MadeQueue&) = delete;
  ~MadeQueue() { unmap(); }

  void unmap() {
    if (page_ != nullptr) {
      ::munmap(page_, sizeof(Page));
    }
    page_ = nullptr;
  }
  discover::Ring ring() const {
    return {1, address_of(page_->packets), sizeof page_->packets,
            address_of(&page_->queue.read_dispatch_id),
            address_of(&page_->queue.write_dispatch_id)};
  }
  void submit(const abi::AmdSignal* signal = nullptr) {
    u64& written = page_->queue.write_dispatch_id;
    page_->packets[written % kPackets].barrier.completion_signal = address_of(signal);
    ++written;
  }
  void read() { page_->queue.read_dispatch_id = page_->queue.write_dispatch_id; }
  void set_read(u64 index) { page_->queue.read_dispatch_id = index; }

 private:
  struct Page {
    abi::AmdQueue queue;
    abi::AqlPacket packets[kPackets];
  };
  static u64 address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

  Page* page_ = static_cast<Page*>(
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

RingReader reader_of(const std::vector<discover::Ring>& rings) {
  return {::getpid(), rings, read_memory};
}

bool is_busy(RingReader& reader) {
  const auto sight = reader.look();
  EXPECT_TRUE(sight) << sight.error().message();
  return sight && sight->busy;
}

TEST(RingReader, WhatIsNotReadIsWork) {
  MadeQueue queue;
  RingReader reader = reader_of({queue.ring()});
  EXPECT_FALSE(is_busy(reader));
  queue.submit();
  EXPECT_TRUE(is_busy(reader));
  queue.read();
  EXPECT_FALSE(is_busy(reader));
}

TEST(RingReader, TheLastPacketIsWorkUntilItsSignalSaysThatItHasCompleted) {
  MadeQueue queue;
  abi::AmdSignal signal{};
  signal.kind = abi::signal_user;
  signal.value = 1;
  RingReader reader = reader_of({queue.ring()});
  queue.submit(&signal);
  queue.read();
  EXPECT_TRUE(is_busy(reader));
  EXPECT_TRUE(is_busy(reader));
  signal.value = 0;
  EXPECT_FALSE(is_busy(reader));
  signal.value = 1;  // used again, for a packet of another queue
  EXPECT_FALSE(is_busy(reader));
}

TEST(RingReader, ASignalThatCountsManyPacketsOrIsNoneSaysNothing) {
  MadeQueue queue;
  abi::AmdSignal signal{};
  signal.kind = abi::signal_user;
  signal.value = 1000;
  RingReader reader = reader_of({queue.ring()});
  queue.submit(&signal);
  queue.read();
  EXPECT_FALSE(is_busy(reader));
  signal.kind = 7;
  signal.value = 1;
  queue.submit(&signal);
  queue.read();
  EXPECT_FALSE(is_busy(reader));
}

TEST(RingReader, TheLastPacketIsFoundWhereTheRingHasWrapped) {
  MadeQueue queue;
  abi::AmdSignal signal{};
  signal.kind = abi::signal_user;
  signal.value = 1;
  RingReader reader = reader_of({queue.ring()});
  for (u64 i = 0; i < 3 * kPackets + 5; ++i) {
    queue.submit();
  }
  queue.submit(&signal);
  queue.read();
  EXPECT_TRUE(is_busy(reader));
}

TEST(RingReader, OneBusyQueueIsEnough) {
  MadeQueue queues[3];
  RingReader reader = reader_of({queues[0].ring(), queues[1].ring(), queues[2].ring()});
  EXPECT_FALSE(is_busy(reader));
  queues[2].submit();
  EXPECT_TRUE(is_busy(reader));
}

TEST(RingReader, CountsWhatWasReadAndSaysWhetherAnythingMoved) {
  MadeQueue one, other;
  RingReader reader = reader_of({one.ring(), other.ring()});
  EXPECT_FALSE(reader.look()->moved);
  one.submit();
  one.submit();
  other.submit();
  EXPECT_TRUE(reader.look()->moved);
  EXPECT_FALSE(reader.look()->moved);
  one.read();
  EXPECT_EQ(reader.look()->read, 2U);
  other.read();
  EXPECT_EQ(reader.look()->read, 3U);
}

// Two u64 that were not read at one moment.
TEST(RingReader, IndicesThatCannotBeAreNoNews) {
  MadeQueue queue;
  RingReader reader = reader_of({queue.ring()});
  queue.set_read(5);
  EXPECT_FALSE(is_busy(reader));
  queue.set_read(0);
  queue.submit();
  ASSERT_TRUE(is_busy(reader));
  queue.set_read(5);
  EXPECT_TRUE(is_busy(reader));
}

TEST(RingReader, IndicesMayLieFarApart) {
  MadeQueue one, other;
  discover::Ring ring = one.ring();
  ring.read_index_address = other.ring().read_index_address;
  MadeQueue behind;
  RingReader reader = reader_of({ring, behind.ring()});
  one.submit();
  EXPECT_TRUE(is_busy(reader));
  other.set_read(1);
  EXPECT_FALSE(is_busy(reader));
  behind.submit();
  EXPECT_TRUE(is_busy(reader));
}

TEST(RingReader, MemoryThatIsGoneIsNotReadAgainAndTheRestIs) {
  MadeQueue queues[4];
  RingReader reader =
      reader_of({queues[0].ring(), queues[1].ring(), queues[2].ring(), queues[3].ring()});
  for (MadeQueue& queue : queues) {
    queue.submit();
  }
  ASSERT_TRUE(is_busy(reader));
  queues[0].unmap();
  queues[2].unmap();
  EXPECT_TRUE(is_busy(reader));
  EXPECT_EQ(reader.rings(), 2U);
  queues[1].read();
  queues[3].read();
  EXPECT_FALSE(is_busy(reader));
}

TEST(RingReader, WithoutAnyRingThereIsNothingToSay) {
  MadeQueue queue;
  RingReader reader = reader_of({queue.ring()});
  queue.unmap();
  const auto sight = reader.look();
  ASSERT_FALSE(sight);
  EXPECT_EQ(sight.error().code, EFAULT);
}

TEST(RingReader, ARingOrASignalThatIsGoneEndsNothing) {
  MadeQueue queue, gone;
  discover::Ring ring = queue.ring();
  ring.base = gone.ring().base;
  gone.unmap();
  RingReader reader = reader_of({ring});
  queue.submit();
  queue.read();
  EXPECT_FALSE(is_busy(reader));
}

TEST(RingReader, SaysWhyAProcessMayNotBeRead) {
  MadeQueue queue;
  RingReader reader(1, {queue.ring()},
                    [](pid_t, std::span<const iovec>, std::span<const iovec>) -> ssize_t {
                      errno = EPERM;
                      return -1;
                    });
  const auto sight = reader.look();
  ASSERT_FALSE(sight);
  EXPECT_EQ(sight.error().code, EPERM);
  EXPECT_NE(sight.error().message().find("CAP_SYS_PTRACE"), std::string::npos);
}

TEST(RingReader, ReadsNoMoreThanOneCallCan) {
  MadeQueue one, other;
  discover::Ring far = one.ring();
  far.read_index_address = other.ring().read_index_address;
  RingReader reader = reader_of(std::vector<discover::Ring>(600, far));
  EXPECT_FALSE(is_busy(reader));
  EXPECT_EQ(reader.rings(), RingReader::kMostRings);
}

}  // namespace
}  // namespace gp::daemon
