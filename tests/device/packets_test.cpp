// The packet processor: order, overlap, barriers, dependencies, completion.
#include <algorithm>

#include "abi/pm4.h"
#include "device/device_kernels.h"
#include "device/device_support.h"

namespace vgpu::device::test {
namespace {

class PacketTest : public DeviceTest {
 protected:
  // Kernarg of kAppend.
  u64 append_args(Process& p, u64 log, u32 value) {
    auto args = p.buffer<u64>(2);
    args[0] = log;
    args[1] = value;
    return args.va;
  }
  std::vector<u32> entries(const Buffer<u32>& log) { return {log.host + 1, log.host + 1 + log[0]}; }
  u32 flag(const Buffer<u32>& flags, u32 i) { return __atomic_load_n(&flags[i], __ATOMIC_ACQUIRE); }
  void release(const Buffer<u32>& flags) { __atomic_store_n(&flags[0], 1u, __ATOMIC_RELEASE); }
};

TEST_F(PacketTest, PacketsWithTheBarrierBitRunOneAfterAnother) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  const u64 append = p->load(assemble(kAppend));
  auto log = p->buffer<u32>(101);
  const u64 signal = p->signal(1);
  run({queue.mqd});
  std::vector<u32> expected;
  for (u32 i = 0; i < 100; ++i) {
    queue.push({.kernel = append,
                .kernarg = append_args(*p, log.va, i),
                .signal = i == 99 ? signal : 0,
                .barrier = true});
    expected.push_back(i);
  }
  queue.ring();
  ASSERT_TRUE(done(*p, signal));
  EXPECT_EQ(entries(log), expected);
  EXPECT_TRUE(eventually([&] { return queue.read_index() == 100; }));
}

TEST_F(PacketTest, ARingOfAnEarlierPacketThatHidesALaterOneLosesNothing) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  const u64 signal = p->signal(2);
  run({queue.mqd});
  queue.push_barrier({}, signal);
  queue.push_barrier({}, signal);
  // Two producers rang 1 and then 0; the device saw the slot only after both.
  queue.mqd->doorbell.page->slot(queue.mqd->doorbell.slot).store(0);
  EXPECT_TRUE(done(*p, signal));
}

TEST_F(PacketTest, PacketsWithoutTheBarrierBitOverlap) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  auto args = p->buffer<u64>(1);
  auto flags = p->buffer<u32>(3);
  args[0] = flags.va;
  const u64 spin = p->load(assemble(kSpin));
  run({queue.mqd});
  for (int i = 0; i < 5; ++i) {
    queue.push({.kernel = spin, .kernarg = args.va});
  }
  queue.ring();
  EXPECT_TRUE(eventually([&] { return flag(flags, 1) == 5; }));
  EXPECT_EQ(flag(flags, 2), 0u);
  release(flags);
  EXPECT_TRUE(eventually([&] { return queue.read_index() == 5; }));
}

TEST_F(PacketTest, ABarrierPacketCompletesWhileAnEarlierDispatchRunsUnlessItHasTheBarrierBit) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  auto args = p->buffer<u64>(1);
  auto flags = p->buffer<u32>(3);
  args[0] = flags.va;
  const u64 first = p->signal(1), second = p->signal(1);
  run({queue.mqd});
  queue.push({.kernel = p->load(assemble(kSpin)), .kernarg = args.va});
  queue.push_barrier({}, first);
  queue.push_barrier({}, second, true);
  queue.ring();
  ASSERT_TRUE(done(*p, first));
  EXPECT_EQ(p->signal_value(second), 1);
  // Retired in order: the slot of the running dispatch must not be given back.
  EXPECT_EQ(queue.read_index(), 0u);
  release(flags);
  EXPECT_TRUE(done(*p, second));
  EXPECT_TRUE(eventually([&] { return queue.read_index() == 3; }));
}

TEST_F(PacketTest, BarrierAndWaitsForAllDependencies) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  const u64 a = p->signal(1), b = p->signal(1), finished = p->signal(1);
  run({queue.mqd});
  queue.push_barrier({a, b}, finished);
  queue.ring();
  const auto set = [&](u64 signal) {
    __atomic_store_n(const_cast<i64*>(&p->signal_at(signal).value), 0, __ATOMIC_RELEASE);
  };
  set(a);
  gpu->kick();
  EXPECT_EQ(p->signal_value(finished), 1);
  set(b);
  EXPECT_TRUE(done(*p, finished));
}

TEST_F(PacketTest, BarrierOrWaitsForOneDependency) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  const u64 a = p->signal(1), b = p->signal(0), c = p->signal(1);
  const u64 finished = p->signal(1);
  run({queue.mqd});
  queue.push_barrier({a, b, c}, finished, false, abi::packet_barrier_or);
  queue.ring();
  EXPECT_TRUE(done(*p, finished));
}

TEST_F(PacketTest, AQueueWaitsForAnotherThroughASignal) {
  start();
  auto p = process();
  AqlQueue first(*p), second(*p);
  const u64 append = p->load(assemble(kAppend));
  auto log = p->buffer<u32>(3);
  const u64 produced = p->signal(1), finished = p->signal(1);
  run({first.mqd, second.mqd});
  second.push_barrier({produced}, 0);
  second.push({.kernel = append,
               .kernarg = append_args(*p, log.va, 2),
               .signal = finished,
               .barrier = true});
  second.ring();
  first.submit({.kernel = append, .kernarg = append_args(*p, log.va, 1), .signal = produced});
  ASSERT_TRUE(done(*p, finished));
  EXPECT_EQ(entries(log), (std::vector<u32>{1, 2}));
}

TEST_F(PacketTest, BarrierValueComparesTheMaskedSignal) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  const u64 watched = p->signal(0xff), finished = p->signal(1);
  abi::AqlPacket packet{};
  packet.barrier_value.header = abi::packet_vendor_specific;
  packet.barrier_value.vendor_format = abi::vendor_barrier_value;
  packet.barrier_value.signal = watched;
  packet.barrier_value.value = 0x10;
  packet.barrier_value.mask = 0xf0;
  packet.barrier_value.condition = abi::cond_eq;
  packet.barrier_value.completion_signal = finished;
  run({queue.mqd});
  queue.push_raw(packet);
  queue.ring();
  __atomic_store_n(const_cast<i64*>(&p->signal_at(watched).value), 0x1a, __ATOMIC_RELEASE);
  EXPECT_TRUE(done(*p, finished));
}

TEST_F(PacketTest, AnUnwrittenPacketIsWaitedFor) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  const u64 signal = p->signal(1);
  // The slot is reserved and rung, the packet is not there yet.
  queue.amd().write_dispatch_id = 1;
  queue.ring();
  run({queue.mqd});
  auto* slot = reinterpret_cast<abi::AqlPacket*>(p->host(queue.mqd->properties.ring_base));
  slot->barrier.completion_signal = signal;
  for (u64& dependency : slot->barrier.dep_signal) {
    dependency = 0;
  }
  __atomic_store_n(&slot->word.header, u16{abi::packet_barrier_and}, __ATOMIC_RELEASE);
  EXPECT_TRUE(done(*p, signal));
}

TEST_F(PacketTest, CompletionStoresTheMailboxAndRaisesTheEvent) {
  start();
  auto p = process(7);
  AqlQueue queue(*p);
  const u64 signal = p->signal(1, 42);
  run({queue.mqd});
  queue.push_barrier({}, signal);
  queue.ring();
  ASSERT_TRUE(eventually([&] { return !host.events().empty(); }));
  EXPECT_EQ(host.events().front(), (std::pair<u32, u32>(7, 42)));
  EXPECT_EQ(*reinterpret_cast<u32*>(p->host(p->signal_at(signal).event_mailbox_ptr)), 42u);
  EXPECT_EQ(p->signal_value(signal), 0);
}

TEST_F(PacketTest, TheRingWrapsAround) {
  start();
  auto p = process();
  QueueOptions small;
  small.packets = 16;
  AqlQueue queue(*p, small);
  const u64 append = p->load(assemble(kAppend));
  auto log = p->buffer<u32>(201);
  run({queue.mqd});
  for (u32 i = 0; i < 200; ++i) {
    ASSERT_TRUE(eventually([&] { return i - queue.read_index() < 16; }));
    queue.submit({.kernel = append, .kernarg = append_args(*p, log.va, i), .barrier = true});
  }
  EXPECT_TRUE(eventually([&] { return queue.read_index() == 200; }));
  EXPECT_EQ(log[0], 200u);
  EXPECT_TRUE(std::is_sorted(&log[1], &log[1] + 200));
}

TEST_F(PacketTest, APm4AcquireMemMakesNewCodeVisible) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  auto args = p->buffer<u64>(2);
  auto log = p->buffer<u32>(3);
  args[0] = log.va, args[1] = 1;
  const KernelCode append = assemble(kAppend);
  const KernelCode empty = assemble(kEmpty);
  KernelCode padded = empty;
  padded.image.resize(std::max(append.image.size(), empty.image.size()));
  const u64 kernel = p->load(padded);
  const u64 first = p->signal(1);
  run({queue.mqd});
  queue.submit({.kernel = kernel, .kernarg = args.va, .signal = first});
  ASSERT_TRUE(done(*p, first));
  ASSERT_EQ(log[0], 0u);
  std::copy(append.image.begin(), append.image.end(), p->host(kernel));

  auto ib = p->buffer<u32>(7);
  ib[0] = 3u << 30 | 5u << 16 | u32{abi::pm4_acquire_mem} << 8;
  abi::AqlPacket packet{};
  packet.pm4.header = abi::packet_vendor_specific;
  packet.pm4.vendor_format = abi::vendor_pm4_ib;
  packet.pm4.ib_jump[0] = 3u << 30 | 2u << 16 | u32{abi::pm4_indirect_buffer} << 8;
  packet.pm4.ib_jump[1] = static_cast<u32>(ib.va);
  packet.pm4.ib_jump[2] = static_cast<u32>(ib.va >> 32);
  packet.pm4.ib_jump[3] = 7 | 1u << 23;
  queue.push_raw(packet);
  queue.ring();
  // The runtime waits for the read index, there is no signal.
  ASSERT_TRUE(eventually([&] { return queue.read_index() == 2; }));
  const u64 second = p->signal(1);
  queue.submit({.kernel = kernel, .kernarg = args.va, .signal = second});
  ASSERT_TRUE(done(*p, second));
  EXPECT_EQ(log[0], 1u);
}

TEST_F(PacketTest, ADroppedDoorbellIsMadeGoodByTheNextRing) {
  start();
  auto p = process();
  AqlQueue queue(*p), other(*p);
  const u64 first = p->signal(1), second = p->signal(1), marker = p->signal(1);
  run({queue.mqd, other.mqd});
  gpu->inject({.unmap_delay_ns = 0, .hws_hang = false, .drop_doorbells = 1});
  queue.push_barrier({}, first);
  queue.ring();
  // Doorbells are looked at in the order of the run list: the drop is past when this completes.
  other.push_barrier({}, marker);
  other.ring();
  ASSERT_TRUE(done(*p, marker));
  EXPECT_EQ(p->signal_value(first), 1);
  queue.push_barrier({}, second);
  queue.ring();
  EXPECT_TRUE(done(*p, second));
  EXPECT_TRUE(done(*p, first));
}

TEST_F(PacketTest, ADroppedDoorbellIsMadeGoodByMappingAgain) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  const u64 signal = p->signal(1);
  run({queue.mqd});
  gpu->inject({.unmap_delay_ns = 0, .hws_hang = false, .drop_doorbells = 1});
  queue.push_barrier({}, signal);
  queue.ring();
  run({queue.mqd});
  EXPECT_TRUE(done(*p, signal));
}

struct BadPacket {
  const char* name;
  Dispatch dispatch;
  u16 header;  // 0: a dispatch
  u64 code;
};

TEST_F(PacketTest, BadPacketsStopTheQueueWithTheCodeTheRuntimeKnows) {
  start();
  const std::vector<BadPacket> bad = {
      {"no work-items", {.grid = {0, 1, 1}}, 0, abi::inactive_invalid_dim},
      {"group too large",
       {.grid = {4096, 1, 1}, .group = {2048, 1, 1}},
       0,
       abi::inactive_group_too_large},
      {"too much LDS", {.lds = 65537}, 0, abi::inactive_invalid_group_memory},
      {"no kernel", {.kernel = 0}, 0, abi::inactive_invalid_code},
      {"agent dispatch", {}, abi::packet_agent_dispatch, abi::inactive_invalid_packet},
      {"reserved type", {}, 77, abi::inactive_invalid_packet},
      {"vendor format", {}, abi::packet_vendor_specific, abi::inactive_invalid_vendor_packet},
  };
  for (const BadPacket& item : bad) {
    SCOPED_TRACE(item.name);
    auto p = process();
    AqlQueue queue(*p);
    AqlQueue bystander(*p);
    run({queue.mqd, bystander.mqd});
    Dispatch dispatch = item.dispatch;
    if (item.code != abi::inactive_invalid_code) {
      dispatch.kernel = p->load(assemble(kEmpty));
    }
    const size_t errors_before = host.errors().size();
    if (item.header == 0 && item.code != abi::inactive_invalid_vendor_packet) {
      queue.push(dispatch);
    } else {
      abi::AqlPacket packet{};
      packet.word.header = item.header;
      packet.word.second = 99;
      queue.push_raw(packet);
    }
    queue.ring();
    ASSERT_TRUE(eventually([&] { return host.errors().size() > errors_before; }));
    EXPECT_EQ(host.errors().back().code, item.code);
    EXPECT_EQ(host.errors().back().queue, queue.mqd.get());
    EXPECT_EQ(queue.inactive_value(), item.code);
    EXPECT_EQ(queue.read_index(), 0u);
    const u64 signal = p->signal(1);
    bystander.push_barrier({}, signal);
    bystander.ring();
    EXPECT_TRUE(done(*p, signal));
    unmap();
  }
}

}  // namespace
}  // namespace vgpu::device::test
