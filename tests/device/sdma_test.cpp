// The copy engines' packets.
#include <numeric>

#include "abi/sdma.h"
#include "device/device_support.h"

namespace vgpu::device::test {
namespace {

constexpr u32 lo(u64 value) { return static_cast<u32>(value); }
constexpr u32 hi(u64 value) { return static_cast<u32>(value >> 32); }

std::vector<u32> copy_packet(u64 to, u64 from, u32 bytes) {
  return {abi::sdma_copy, bytes - 1, 0, lo(from), hi(from), lo(to), hi(to)};
}
std::vector<u32> fence_packet(u64 va, u32 value) {
  return {abi::sdma_fence, lo(va), hi(va), value};
}
std::vector<u32> atomic_packet(u32 operation, u64 va, u64 value, u64 compare = 0) {
  return {abi::sdma_atomic | operation << 25,
          lo(va),
          hi(va),
          lo(value),
          hi(value),
          lo(compare),
          hi(compare),
          0};
}

class SdmaTest : public DeviceTest {
 protected:
  // Pushes a fence, rings, and waits until it is done.
  void finish(Process& p, SdmaQueue& queue) {
    auto fence = p.buffer<u32>(1);
    queue.push(fence_packet(fence.va, 0xf00d));
    queue.ring();
    ASSERT_TRUE(eventually([&] { return __atomic_load_n(&fence[0], __ATOMIC_ACQUIRE) == 0xf00d; }));
  }
};

TEST_F(SdmaTest, CopiesAcrossPagesAtAnyAlignment) {
  start();
  auto p = process();
  SdmaQueue queue(*p);
  auto from = p->buffer<u8>(3 << 20), to = p->buffer<u8>(3 << 20);
  std::iota(&from[0], &from[0] + from.count, u8{1});
  run({queue.mqd});
  queue.push(copy_packet(to.va + 3, from.va + 1, (2 << 20) + 12345));
  finish(*p, queue);
  for (u32 i = 0; i < (2 << 20) + 12345; ++i) {
    ASSERT_EQ(to[i + 3], from[i + 1]) << i;
  }
  EXPECT_EQ(to[2], 0);
  EXPECT_EQ(to[3 + (2 << 20) + 12345], 0);
}

TEST_F(SdmaTest, CopiesABox) {
  start();
  auto p = process();
  SdmaQueue queue(*p);
  auto from = p->buffer<u16>(64 * 64 * 4), to = p->buffer<u16>(32 * 32 * 4);
  std::iota(&from[0], &from[0] + from.count, u16{0});
  run({queue.mqd});
  // 10 x 7 x 3 elements of 2 bytes from (1, 2, 1) of a 64x64 image to (3, 1, 0) of a 32x32 one.
  queue.push({abi::sdma_copy | u32{abi::sdma_copy_linear_rect} << 8 | 1u << 29, lo(from.va),
              hi(from.va), 1 | 2 << 16, 1 | 63 << 13, 64 * 64 - 1, lo(to.va), hi(to.va),
              3 | 1 << 16, 0 | 31 << 13, 32 * 32 - 1, 9 | 6 << 16, 2});
  finish(*p, queue);
  u32 touched = 0;
  for (u32 z = 0; z < 3; ++z) {
    for (u32 y = 0; y < 7; ++y) {
      for (u32 x = 0; x < 10; ++x) {
        ASSERT_EQ(to[z * 1024 + (y + 1) * 32 + x + 3], from[(z + 1) * 4096 + (y + 2) * 64 + x + 1]);
      }
    }
  }
  for (u64 i = 0; i < to.count; ++i) {
    touched += to[i] != 0;
  }
  EXPECT_EQ(touched, 210u);
}

TEST_F(SdmaTest, FillsWithADword) {
  start();
  auto p = process();
  SdmaQueue queue(*p);
  auto to = p->buffer<u32>(100000);
  run({queue.mqd});
  queue.push(
      {abi::sdma_const_fill | 2u << 30, lo(to.va + 4), hi(to.va + 4), 0xdeadbeef, (99998 - 1) * 4});
  finish(*p, queue);
  EXPECT_EQ(to[0], 0u);
  for (u32 i = 1; i < 99999; ++i) {
    ASSERT_EQ(to[i], 0xdeadbeef) << i;
  }
  EXPECT_EQ(to[99999], 0u);
}

TEST_F(SdmaTest, WritesImmediateData) {
  start();
  auto p = process();
  SdmaQueue queue(*p);
  auto to = p->buffer<u32>(32);
  std::vector<u32> packet = {abi::sdma_write, lo(to.va), hi(to.va), 19};
  for (u32 i = 0; i < 20; ++i) {
    packet.push_back(i + 100);
  }
  run({queue.mqd});
  queue.push(packet);
  finish(*p, queue);
  EXPECT_EQ(to[0], 100u);
  EXPECT_EQ(to[19], 119u);
  EXPECT_EQ(to[20], 0u);
}

TEST_F(SdmaTest, AtomicsOfBothSizes) {
  start();
  auto p = process();
  SdmaQueue queue(*p);
  auto word = p->buffer<u64>(4);
  word[0] = 5, word[1] = 5, word[2] = 7, word[3] = 7;
  run({queue.mqd});
  queue.push(atomic_packet(abi::sdma_atomic_add64, word.va, ~u64{0}));
  queue.push(atomic_packet(abi::sdma_atomic_add32, word.va + 8, 0xffffffff));
  queue.push(atomic_packet(abi::sdma_atomic_cmpswap64, word.va + 16, 9, 7));
  queue.push(atomic_packet(abi::sdma_atomic_cmpswap64, word.va + 24, 9, 8));
  finish(*p, queue);
  EXPECT_EQ(word[0], 4u);
  EXPECT_EQ(word[1], 4u);
  EXPECT_EQ(word[2], 9u);
  EXPECT_EQ(word[3], 7u);
}

TEST_F(SdmaTest, PollWaitsForMemory) {
  start();
  auto p = process();
  SdmaQueue queue(*p);
  auto flag = p->buffer<u32>(1), after = p->buffer<u32>(1);
  run({queue.mqd});
  queue.push({abi::sdma_poll_regmem | u32{abi::sdma_poll_eq} << 28 | abi::kSdmaPollMemory,
              lo(flag.va), hi(flag.va), 7, 0xff, 0});
  queue.push(fence_packet(after.va, 1));
  queue.ring();
  gpu->kick();
  EXPECT_EQ(__atomic_load_n(&after[0], __ATOMIC_ACQUIRE), 0u);
  __atomic_store_n(&flag[0], 0x1207u, __ATOMIC_RELEASE);
  EXPECT_TRUE(eventually([&] { return __atomic_load_n(&after[0], __ATOMIC_ACQUIRE) == 1; }));
}

TEST_F(SdmaTest, TrapRaisesTheEventAndTimestampsAreWritten) {
  start();
  auto p = process(3);
  SdmaQueue queue(*p);
  auto stamp = p->buffer<u64>(1);
  run({queue.mqd});
  queue.push(
      {abi::sdma_timestamp | u32{abi::sdma_timestamp_get_global} << 8, lo(stamp.va), hi(stamp.va)});
  queue.push({abi::sdma_poll_regmem, 0, 0x80000000, 0, 0, 0});  // HDP flush, as the runtime does it
  queue.push({abi::sdma_nop, abi::sdma_nop, abi::sdma_trap, 17});
  queue.ring();
  ASSERT_TRUE(eventually([&] { return !host.events().empty(); }));
  EXPECT_EQ(host.events().front(), (std::pair<u32, u32>(3, 17)));
  EXPECT_NE(stamp[0], 0u);
}

TEST_F(SdmaTest, TheRingWrapsAround) {
  start();
  auto p = process();
  SdmaQueue queue(*p, 4096);
  auto from = p->buffer<u32>(64), to = p->buffer<u32>(64);
  run({queue.mqd});
  for (u32 i = 0; i < 2000; ++i) {
    from[i % 64] = i;
    queue.push(copy_packet(to.va + i % 64 * 4, from.va + i % 64 * 4, 4));
    queue.ring();
    ASSERT_TRUE(eventually([&] { return queue.read_pointer() == (i + 1) * 28; }));
    ASSERT_EQ(to[i % 64], i);
  }
}

TEST_F(SdmaTest, ALongCopyIsStoppedByUnmapAndGoesOnAfterMap) {
  start();
  auto p = process();
  SdmaQueue queue(*p);
  auto from = p->buffer<u8>(8 << 20), to = p->buffer<u8>(8 << 20);
  std::iota(&from[0], &from[0] + from.count, u8{1});
  run({queue.mqd});
  for (u32 i = 0; i < 4; ++i) {
    queue.push(copy_packet(to.va + (i << 21), from.va + (i << 21), 2 << 20));
  }
  queue.ring();
  for (int i = 0; i < 50; ++i) {
    run({queue.mqd});
  }
  finish(*p, queue);
  EXPECT_EQ(std::vector<u8>(&from[0], &from[0] + from.count),
            std::vector<u8>(&to[0], &to[0] + to.count));
}

TEST_F(SdmaTest, AWildCopyIsAFaultOfItsProcess) {
  start();
  auto p = process(5), other = process(6);
  SdmaQueue queue(*p), healthy(*other);
  run({queue.mqd, healthy.mqd});
  queue.push(copy_packet(0x123456000, 0x7000000000, 4096));
  queue.ring();
  ASSERT_TRUE(eventually([&] { return !host.faults().empty(); }));
  EXPECT_EQ(host.faults().front().pasid, 5u);
  EXPECT_EQ(host.faults().front().fault.va, 0x7000000000u);
  EXPECT_FALSE(host.faults().front().fault.write);
  finish(*other, healthy);
}

TEST_F(SdmaTest, AnUnknownPacketStopsTheQueue) {
  start();
  auto p = process();
  SdmaQueue queue(*p);
  run({queue.mqd});
  queue.push({99, 0, 0, 0});
  queue.ring();
  ASSERT_TRUE(eventually([&] { return !host.errors().empty(); }));
  EXPECT_EQ(host.errors().front().error, QueueError::bad_packet);
  EXPECT_EQ(queue.read_pointer(), 0u);
}

}  // namespace
}  // namespace vgpu::device::test
