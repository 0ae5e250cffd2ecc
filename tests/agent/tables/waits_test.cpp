// For which other parts of its process a part waits, in rings that no GPU reads.
#include "agent/waits.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <memory>
#include <vector>

#include "abi/aql.h"
#include "libc/clock.h"

namespace gp::agent {
namespace {

constexpr u32 kPackets = 16;
constexpr u64 kForEver = 1'000'000'000'000;
constexpr u32 kRest = bit_of(Part::rest), kOffline = bit_of(Part::offline),
              kNormal = bit_of(Part::normal), kOnline = bit_of(Part::online);

class alignas(64) Signal {
 public:
  Signal() {
    signal_.kind = abi::signal_user;
    signal_.value = 1;
  }
  u64 handle() const { return reinterpret_cast<u64>(this); }
  void fall() { signal_.value = 0; }

 private:
  abi::AmdSignal signal_{};
};

// A queue of the program. What is submitted stays in front of the packet processor.
struct Ring {
  Ring() : packets(kPackets) {
    for (abi::AqlPacket& packet : packets) {
      packet.word.header = abi::packet_invalid;
    }
    queue.type = HSA_QUEUE_TYPE_MULTI;
    queue.base_address = packets.data();
    queue.size = kPackets;
    queue.doorbell_signal.handle = doorbell.handle();
  }
  abi::BarrierPacket& submit(u16 type) {
    abi::BarrierPacket& packet = packets[written++ % kPackets].barrier;
    packet = {};
    packet.header = type;
    return packet;
  }
  void wait_for(const Signal& signal) {
    submit(abi::packet_barrier_and).dep_signal[0] = signal.handle();
  }
  void complete(const Signal& signal) {
    submit(abi::packet_kernel_dispatch).completion_signal = signal.handle();
  }

  Signal doorbell;
  hsa_queue_t queue{};
  std::vector<abi::AqlPacket> packets;
  u64 read = 0, written = 0;
};

class Waits : public testing::Test {
 protected:
  void SetUp() override {
    runtime.load_read_index = [](const hsa_queue_t* queue) { return rings.at(queue)->read; };
    runtime.load_write_index = [](const hsa_queue_t* queue) { return rings.at(queue)->written; };
  }
  void TearDown() override {
    const Queues::Lock lock(queues);
    queues.forget_all();
    rings.clear();
    runtime = {};
  }
  Ring& ring_of(Part part) {
    rings_.push_back(std::make_unique<Ring>());
    Ring& ring = *rings_.back();
    rings[&ring.queue] = &ring;
    const Queues::Lock lock(queues);
    queues.set_taken(part, true);
    queues.add(&ring.queue)->named_part = part;
    queues.assign_parts();
    return ring;
  }
  void move(Ring& ring, Part part) {
    const Queues::Lock lock(queues);
    queues.set_taken(part, true);
    slot_of(ring).named_part = part;
    queues.assign_parts();
  }
  TrackedQueue& slot_of(Ring& ring) { return *queues.find(&ring.queue); }
  u32 awaited(u64 patience_ns = kForEver) { return search_.look(Part::online, patience_ns); }

 private:
  static inline std::map<const hsa_queue_t*, Ring*> rings;
  std::vector<std::unique_ptr<Ring>> rings_;
  WaitSearch search_;
};

TEST_F(Waits, AreForThePartThatCompletesTheSignal) {
  Ring &online = ring_of(Part::online), &offline = ring_of(Part::offline);
  ring_of(Part::normal);
  Signal event;
  offline.complete(event);
  online.wait_for(event);
  EXPECT_EQ(awaited(), kOffline);
  event.fall();
  EXPECT_EQ(awaited(), 0U);
}

TEST_F(Waits, GoOnFromPartToPart) {
  Ring &online = ring_of(Part::online), &normal = ring_of(Part::normal);
  Ring& offline = ring_of(Part::offline);
  Signal first, second;
  offline.complete(first);
  normal.wait_for(first);
  normal.complete(second);
  online.wait_for(second);
  EXPECT_EQ(awaited(), kNormal | kOffline);
}

TEST_F(Waits, AreNoneOfAQueueThatHasMoreBeforeThem) {
  Ring &online = ring_of(Part::online), &offline = ring_of(Part::offline);
  Signal event, other;
  offline.complete(event);
  online.complete(other);
  online.wait_for(event);
  EXPECT_EQ(awaited(), 0U);
  online.read = 1;
  EXPECT_EQ(awaited(), kOffline);
}

TEST_F(Waits, AreFoundBehindAPacketThatIsUsedUp) {
  Ring &online = ring_of(Part::online), &offline = ring_of(Part::offline);
  Signal event;
  offline.complete(event);
  online.submit(abi::packet_invalid);
  online.wait_for(event);
  EXPECT_EQ(awaited(), kOffline);
}

TEST_F(Waits, OfOneAmongSeveralSignalsAreOverWithTheFirst) {
  Ring &online = ring_of(Part::online), &offline = ring_of(Part::offline);
  Signal first, second;
  offline.complete(first);
  offline.complete(second);
  abi::BarrierPacket& packet = online.submit(abi::packet_barrier_or);
  packet.dep_signal[0] = first.handle();
  packet.dep_signal[1] = second.handle();
  EXPECT_EQ(awaited(), kOffline);
  second.fall();
  EXPECT_EQ(awaited(), 0U);
}

// A copy's signal, for example: the engine that copies may stand in line behind a stopped part.
TEST_F(Waits, ForWhatNoPacketCompletesMayBeForAnyPartInTheEnd) {
  Ring& online = ring_of(Part::online);
  ring_of(Part::offline);
  const Signal copy;
  online.wait_for(copy);
  EXPECT_EQ(awaited(), 0U);
  EXPECT_EQ(awaited(0), kRest | kOffline);
}

TEST_F(Waits, ForASignalThatIsNotThereAnyMoreDoNoHarm) {
  Ring& online = ring_of(Part::online);
  void* memory = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::munmap(memory, 4096);
  online.submit(abi::packet_barrier_and).dep_signal[0] = reinterpret_cast<u64>(memory);
  EXPECT_EQ(awaited(), 0U);
  EXPECT_EQ(awaited(0), kRest);
}

TEST_F(Waits, OfAQueueWithAGateAreNotLookedFor) {
  Ring &online = ring_of(Part::online), &offline = ring_of(Part::offline);
  const Signal event;
  offline.complete(event);
  online.wait_for(event);
  {
    const Queues::Lock lock(queues);
    slot_of(online).gated = true;
  }
  EXPECT_EQ(awaited(0), 0U);
}

TEST_F(Waits, FollowAQueueToItsOtherPart) {
  Ring &online = ring_of(Part::online), &offline = ring_of(Part::offline);
  const Signal event;
  offline.complete(event);
  online.wait_for(event);
  ASSERT_EQ(awaited(), kOffline);
  move(offline, Part::normal);
  EXPECT_EQ(awaited(), kNormal);
  move(offline, Part::online);
  EXPECT_EQ(awaited(), 0U) << "for its own part nobody has to be started";
}

// HIP uses signals again: an old packet names the one that a new one of another part completes.
TEST_F(Waits, AreLookedForAgainThoughSomebodyWasFound) {
  Ring &online = ring_of(Part::online), &normal = ring_of(Part::normal);
  Ring& offline = ring_of(Part::offline);
  const Signal event;
  normal.complete(event);
  online.wait_for(event);
  ASSERT_EQ(awaited(), kNormal);
  offline.complete(event);
  {
    const Queues::Lock lock(queues);
    slot_of(online).searched_ns = 1;  // long ago
  }
  EXPECT_EQ(awaited(), kNormal | kOffline);
}

// The watchers of several parts look at the same queues.
TEST_F(Waits, ThatAnotherThreadHasSeenAfterThisLookBeganAreNew) {
  Ring& online = ring_of(Part::online);
  ring_of(Part::offline);
  const Signal copy;
  online.wait_for(copy);
  ASSERT_EQ(awaited(), 0U);
  {
    const Queues::Lock lock(queues);
    slot_of(online).blocked_since_ns = monotonic_ns() + kForEver;
  }
  EXPECT_EQ(awaited(WaitSearch::kPatienceNs), 0U);
}

TEST_F(Waits, OfAQueueWithMorePlacesReservedThanItHasEnd) {
  Ring& online = ring_of(Part::online);
  ring_of(Part::offline);
  online.written = u64{1} << 60;
  EXPECT_EQ(awaited(0), 0U);
}

TEST(PartsOfQueues, AreTheRestUntilTheDaemonHasTakenThem) {
  Ring ring;
  const Queues::Lock lock(queues);
  TrackedQueue* slot = queues.add(&ring.queue);
  slot->named_part = Part::online;
  EXPECT_EQ(queues.assign_parts(), 0U);
  EXPECT_EQ(slot->part, Part::rest);
  queues.set_taken(Part::online, true);
  EXPECT_EQ(queues.assign_parts(), kRest | kOnline);
  EXPECT_EQ(slot->part, Part::online);
  EXPECT_EQ(queues.part_of_doorbell(ring.queue.doorbell_signal), Part::online);
  queues.set_taken(Part::online, false);
  EXPECT_EQ(queues.assign_parts(), kRest | kOnline);
  EXPECT_EQ(queues.part_of_doorbell(ring.queue.doorbell_signal), Part::rest);
  queues.forget_all();
}

}  // namespace
}  // namespace gp::agent
