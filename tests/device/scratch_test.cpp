// Private memory: the handshake with the runtime when it does not suffice, and its wave slots.
#include <atomic>
#include <thread>

#include "device/device_support.h"

namespace vgpu::device::test {
namespace {

// Each work-item stores its global id to its private dword 3, waits, and stores what it reads back
// to out[id]. kernarg: out, rounds. One wave per group.
constexpr char kPrivate[] = R"(
  s_add_u32 s0, s0, s13
  s_addc_u32 s1, s1, 0
  s_load_dwordx4 s[16:19], s[6:7], 0x0
  s_lshl_b32 s14, s10, 6
  v_add_u32 v1, s14, v0
  buffer_store_dword v1, off, s[0:3], 0 offset:12
  s_waitcnt vmcnt(0) lgkmcnt(0)
spin:
  s_sub_u32 s18, s18, 1
  s_cmp_lg_u32 s18, 0
  s_cbranch_scc1 spin
  buffer_load_dword v2, off, s[0:3], 0 offset:12
  s_waitcnt vmcnt(0)
  v_lshlrev_b32 v3, 2, v1
  global_store_dword v3, v2, s[16:17]
  s_waitcnt vmcnt(0)
  s_endpgm
)";

class ScratchTest : public DeviceTest {
 protected:
  // What the runtime's DynamicScratchHandler does: room for `waves` waves of what the packet at the
  // read index asks for.
  void grow(Process& p, AqlQueue& queue, u32 waves, bool once = false) {
    const auto* ring = reinterpret_cast<abi::AqlPacket*>(p.host(queue.mqd->properties.ring_base));
    const u32 slots = queue.mqd->properties.ring_size / abi::kPacketSize;
    const abi::DispatchPacket& packet = ring[queue.read_index() % slots].dispatch;
    ASSERT_EQ(packet.header & abi::kHeaderTypeMask, abi::packet_kernel_dispatch);
    const u32 lane_bytes = (packet.private_segment_size + 15) / 16 * 16;
    const u32 wave_bytes = lane_bytes * 64;
    abi::AmdQueue& amd = queue.amd();
    const u64 base = p.allocate(u64{wave_bytes} * waves);
    amd.scratch_backing_memory_location = base;
    amd.scratch_backing_memory_byte_size = u64{wave_bytes} * waves;
    amd.scratch_wave64_lane_byte_size = lane_bytes;
    amd.compute_tmpring_size = waves | wave_bytes / 1024 << 12;
    amd.scratch_resource_descriptor[0] = static_cast<u32>(base);
    amd.scratch_resource_descriptor[1] = static_cast<u32>(base >> 32) | 1u << 31;  // SWIZZLE_ENABLE
    amd.scratch_resource_descriptor[2] = wave_bytes * waves;
    amd.scratch_resource_descriptor[3] =
        4 | 5 << 3 | 6 << 6 | 7 << 9 | 4 << 12 | 4 << 15 | 1 << 19 | 3 << 21 | 1 << 23;
    if (once) {
      amd.queue_properties |= abi::queue_use_scratch_once;
    }
    clear(p, queue);
  }
  void clear(Process& p, AqlQueue& queue) {
    auto& signal = *reinterpret_cast<abi::AmdSignal*>(p.host(queue.amd().queue_inactive_signal));
    __atomic_store_n(&signal.value, 0, __ATOMIC_RELEASE);
  }
  bool asked(AqlQueue& queue, u64 code) {
    return eventually([&] { return queue.inactive_value() == code; });
  }
  struct Run {
    Buffer<u32> out;
    u64 signal;
    u32 groups;
  };
  Run submit(Process& p, AqlQueue& queue, u32 groups, u32 scratch, u32 rounds) {
    Run run{p.buffer<u32>(groups * 64), p.signal(1), groups};
    auto args = p.buffer<u64>(2);
    args[0] = run.out.va, args[1] = rounds;
    KernelOptions options;
    options.private_segment = true;
    Dispatch dispatch;
    dispatch.kernel = p.load(assemble(kPrivate, options));
    dispatch.kernarg = args.va;
    dispatch.grid[0] = groups * 64;
    dispatch.scratch = scratch;
    dispatch.signal = run.signal;
    queue.submit(dispatch);
    return run;
  }
  void expect_right(const Run& run) {
    for (u32 i = 0; i < run.groups * 64; ++i) {
      ASSERT_EQ(run.out[i], i);
    }
  }
};

TEST_F(ScratchTest, TheRuntimeIsAskedForScratchAndTheDispatchThenRuns) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  const Run r = submit(*p, queue, 10, 64, 1);
  ASSERT_TRUE(asked(queue, abi::inactive_scratch_wave64));
  EXPECT_EQ(p->signal_value(r.signal), 1);
  EXPECT_EQ(queue.read_index(), 0u);
  grow(*p, queue, 32);
  ASSERT_TRUE(done(*p, r.signal));
  expect_right(r);
  // It suffices for the next one of that size, not for a larger one.
  const Run same = submit(*p, queue, 10, 64, 1);
  ASSERT_TRUE(done(*p, same.signal));
  const Run larger = submit(*p, queue, 10, 128, 1);
  ASSERT_TRUE(asked(queue, abi::inactive_scratch_wave64));
  grow(*p, queue, 32);
  ASSERT_TRUE(done(*p, larger.signal));
  expect_right(larger);
}

TEST_F(ScratchTest, FewScratchSlotsLimitTheWavesInFlight) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  const Run r = submit(*p, queue, 40, 64, 1000);
  ASSERT_TRUE(asked(queue, abi::inactive_scratch_wave64));
  grow(*p, queue, 2);  // reduced occupancy
  while (p->signal_value(r.signal) != 0) {
    ASSERT_LE(gpu->waves_resident(1), 2u);
  }
  expect_right(r);
}

TEST_F(ScratchTest, ScratchStaysWithItsWavesAcrossPreemption) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  const Run r = submit(*p, queue, 64, 64, 20000);
  ASSERT_TRUE(asked(queue, abi::inactive_scratch_wave64));
  run({queue.mqd});  // also while the queue waits for the runtime
  grow(*p, queue, 64);
  for (int i = 0; i < 1000 && p->signal_value(r.signal) != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    run({queue.mqd});
  }
  ASSERT_TRUE(done(*p, r.signal));
  expect_right(r);
}

TEST_F(ScratchTest, SingleUseScratchGoesBackBeforeTheNextPacket) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  const Run first = submit(*p, queue, 4, 64, 1);
  const Run second = submit(*p, queue, 4, 64, 1);
  ASSERT_TRUE(asked(queue, abi::inactive_scratch_wave64));
  grow(*p, queue, 32, true);
  ASSERT_TRUE(done(*p, first.signal));
  ASSERT_TRUE(asked(queue, abi::inactive_scratch_reclaim));
  EXPECT_EQ(p->signal_value(second.signal), 1);
  // The runtime takes it back: no scratch, property off, signal 0.
  queue.amd().scratch_wave64_lane_byte_size = 0;
  queue.amd().compute_tmpring_size = 0;
  clear(*p, queue);
  __atomic_and_fetch(&queue.amd().queue_properties, ~u32{abi::queue_use_scratch_once},
                     __ATOMIC_RELEASE);
  ASSERT_TRUE(asked(queue, abi::inactive_scratch_wave64));
  grow(*p, queue, 32);
  ASSERT_TRUE(done(*p, second.signal));
  expect_right(first);
  expect_right(second);
}

TEST_F(ScratchTest, EarlierPacketsFinishBeforeTheRuntimeIsAsked) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  const Run small = submit(*p, queue, 4, 64, 1);
  ASSERT_TRUE(asked(queue, abi::inactive_scratch_wave64));
  grow(*p, queue, 32);
  ASSERT_TRUE(done(*p, small.signal));
  const Run longer = submit(*p, queue, 4, 64, 200000);
  const Run larger = submit(*p, queue, 4, 256, 1);
  ASSERT_TRUE(asked(queue, abi::inactive_scratch_wave64));
  EXPECT_EQ(p->signal_value(longer.signal), 0);
  EXPECT_EQ(queue.read_index(), 2u);
  grow(*p, queue, 32);
  ASSERT_TRUE(done(*p, larger.signal));
  expect_right(larger);
}

}  // namespace
}  // namespace vgpu::device::test
