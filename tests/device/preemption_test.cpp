// Unmapping saves waves, mapping restores them, and the program cannot tell.
#include <random>
#include <thread>

#include "device/device_kernels.h"
#include "device/device_support.h"

namespace vgpu::device::test {
namespace {

// A bound, so that a busy machine on which the workers hardly run ends the test, too.
constexpr int kPreemptions = 3000;

// What one work-group of kMix computes.
std::vector<u32> mix_reference(u32 group, u32 rounds) {
  std::vector<u32> value(256), acc(256);
  for (u32 i = 0; i < 256; ++i) {
    value[i] = acc[i] = group * 256 + i;
  }
  for (u32 round = 0; round < rounds; ++round) {
    const std::vector<u32> lds = value;
    for (u32 i = 0; i < 256; ++i) {
      value[i] = (value[i] * 5 + lds[(i + 1) % 256]) ^ acc[i];
      acc[i] += round;
    }
  }
  return value;
}

class PreemptionTest : public DeviceTest {
 protected:
  struct Mix {
    Buffer<u32> out;
    Buffer<u32> counter;
    Buffer<u32> gate;
    u64 signal;
    u32 groups, rounds;
    // The kernel cannot end before this: until then a test may count on its waves.
    void open_gate() { __atomic_store_n(&gate[0], 1u, __ATOMIC_RELEASE); }
  };
  enum class Gate { open, closed };
  Mix submit_mix(Process& p, AqlQueue& queue, u32 groups, u32 rounds, Gate gate = Gate::open) {
    Mix mix{p.buffer<u32>(groups * 256),
            p.buffer<u32>(1),
            p.buffer<u32>(1),
            p.signal(1),
            groups,
            rounds};
    auto args = p.buffer<u64>(4);
    args[0] = mix.out.va, args[1] = mix.counter.va, args[2] = rounds, args[3] = mix.gate.va;
    mix.gate[0] = gate == Gate::open;
    KernelOptions options;
    options.vgprs = kMixVgprs;
    options.accum_offset = kMixAccumOffset;
    Dispatch dispatch;
    dispatch.kernel = p.load(assemble(kMix, options));
    dispatch.kernarg = args.va;
    dispatch.grid[0] = groups * 256;
    dispatch.group[0] = 256;
    dispatch.lds = kMixLds;
    dispatch.signal = mix.signal;
    queue.submit(dispatch);
    return mix;
  }
  void expect_right(const Mix& mix) {
    EXPECT_EQ(mix.counter[0], mix.groups * 256);
    for (u32 group = 0; group < mix.groups; ++group) {
      const std::vector<u32> expected = mix_reference(group, mix.rounds);
      const std::vector<u32> actual(&mix.out[group * 256], &mix.out[group * 256] + 256);
      ASSERT_EQ(actual, expected) << "work-group " << group;
    }
  }
};

TEST_F(PreemptionTest, ARunningKernelStopsWhenUnmappedAndGoesOnWhenMapped) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  auto args = p->buffer<u64>(1);
  auto flags = p->buffer<u32>(3);
  args[0] = flags.va;
  const u64 signal = p->signal(1);
  run({queue.mqd});
  Dispatch dispatch;
  dispatch.kernel = p->load(assemble(kSpin));
  dispatch.kernarg = args.va;
  dispatch.signal = signal;
  queue.submit(dispatch);
  ASSERT_TRUE(eventually([&] { return __atomic_load_n(&flags[1], __ATOMIC_ACQUIRE) == 1; }));
  EXPECT_EQ(gpu->waves_resident(1), 1u);
  unmap();
  EXPECT_EQ(gpu->queue_state(*queue.mqd), QueueState::unmapped);
  EXPECT_EQ(gpu->waves_resident(1), 0u);
  EXPECT_EQ(gpu->save_info(*queue.mqd).waves, 1u);
  EXPECT_GT(gpu->save_info(*queue.mqd).save_area_used, 0u);
  const u64 instructions = gpu->stats().wave_instructions;
  __atomic_store_n(&flags[0], 1u, __ATOMIC_RELEASE);
  gpu->quiesce();
  EXPECT_EQ(gpu->stats().wave_instructions, instructions);
  EXPECT_EQ(p->signal_value(signal), 1);
  run({queue.mqd});
  EXPECT_TRUE(done(*p, signal));
  EXPECT_EQ(flags[1], 1u);
  EXPECT_EQ(gpu->stats().waves_saved, gpu->stats().waves_restored);
}

TEST_F(PreemptionTest, WorkSubmittedWhileUnmappedIsFoundAtMapping) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  const u64 signal = p->signal(1);
  run({queue.mqd});
  unmap();
  queue.push_barrier({}, signal);  // not even rung
  run({queue.mqd});
  EXPECT_TRUE(done(*p, signal));
}

// The heart of it: thousands of unmaps at arbitrary moments while LDS, barriers, accumulation
// registers and atomics are live.
TEST_F(PreemptionTest, ThousandsOfPreemptionsLeaveEveryResultExact) {
  start();
  auto p = process();
  AqlQueue first(*p), second(*p);
  std::mt19937 random(1);
  run({first.mqd, second.mqd});
  Mix a = submit_mix(*p, first, 24, 6000, Gate::closed);
  Mix b = submit_mix(*p, second, 40, 3000, Gate::closed);
  for (int preemptions = 0; preemptions < 500; ++preemptions) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    run({first.mqd, second.mqd});
  }
  a.open_gate();
  b.open_gate();
  ASSERT_TRUE(done(*p, a.signal));
  ASSERT_TRUE(done(*p, b.signal));
  expect_right(a);
  expect_right(b);
  const GpuStats stats = gpu->stats();
  EXPECT_GT(stats.waves_saved, 0u);
  EXPECT_EQ(stats.waves_saved, stats.waves_restored);
}

TEST_F(PreemptionTest, UnmappingRightAfterMappingLosesNothing) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  Mix mix = submit_mix(*p, queue, 16, 200, Gate::closed);
  ASSERT_TRUE(eventually([&] { return gpu->waves_resident(1) > 0; }));
  for (int i = 0; i < 3000; ++i) {
    run({queue.mqd});
  }
  mix.open_gate();
  ASSERT_TRUE(done(*p, mix.signal));
  expect_right(mix);
}

TEST_F(PreemptionTest, AQueueLeftOutOfTheListStaysStoppedWhileOthersRun) {
  start();
  auto p = process(1), q = process(2);
  AqlQueue stopped(*p), running(*q);
  run({stopped.mqd, running.mqd});
  Mix late = submit_mix(*p, stopped, 8, 400, Gate::closed);
  ASSERT_TRUE(eventually([&] { return gpu->waves_resident(1) > 0; }));
  run({running.mqd});
  late.open_gate();
  const Mix early = submit_mix(*q, running, 8, 50);
  ASSERT_TRUE(done(*q, early.signal));
  EXPECT_EQ(p->signal_value(late.signal), 1);
  EXPECT_EQ(gpu->queue_state(*stopped.mqd), QueueState::unmapped);
  run({stopped.mqd, running.mqd});
  ASSERT_TRUE(done(*p, late.signal));
  expect_right(early);
  expect_right(late);
}

TEST_F(PreemptionTest, WithoutASaveAreaTheWavesRunToTheirEndFirst) {
  start();
  auto p = process();
  QueueOptions options;
  options.save_area = 0;
  AqlQueue queue(*p, options);
  run({queue.mqd});
  Mix mix = submit_mix(*p, queue, 4, 100, Gate::closed);
  ASSERT_TRUE(eventually([&] { return gpu->waves_resident(1) > 0; }));
  std::thread unmapping([&] { unmap(); });  // returns when the waves have ended
  mix.open_gate();
  unmapping.join();
  EXPECT_EQ(gpu->stats().waves_saved, 0u);
  run({queue.mqd});
  ASSERT_TRUE(done(*p, mix.signal));
  expect_right(mix);
}

TEST_F(PreemptionTest, WhatDoesNotFitIntoASmallSaveAreaDrains) {
  start();
  auto p = process();
  QueueOptions options;
  options.save_area = 0x1000 + 3 * 25 * 1024;  // about three work-groups of kMix
  AqlQueue queue(*p, options);
  std::mt19937 random(2);
  run({queue.mqd});
  const Mix mix = submit_mix(*p, queue, 30, 200);
  for (int i = 0; i < kPreemptions && p->signal_value(mix.signal) != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    run({queue.mqd});
  }
  ASSERT_TRUE(done(*p, mix.signal));
  expect_right(mix);
}

TEST_F(PreemptionTest, ADestroyedQueueTakesItsSavedWavesWithIt) {
  start();
  auto p = process();
  {
    AqlQueue queue(*p);
    run({queue.mqd});
    submit_mix(*p, queue, 8, 100, Gate::closed);
    ASSERT_TRUE(eventually([&] { return gpu->waves_resident(1) > 0; }));
    unmap();
  }
  AqlQueue next(*p);
  run({next.mqd});
  const Mix mix = submit_mix(*p, next, 8, 10);
  ASSERT_TRUE(done(*p, mix.signal));
  expect_right(mix);
}

TEST_F(PreemptionTest, TheCostModelAddsTimeToAnUnmapWithWaves) {
  config.cost_model = CostModel::mi210;
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  const Mix mix = submit_mix(*p, queue, 8, 100);
  for (int i = 0; i < 20; ++i) {
    run({queue.mqd});
  }
  ASSERT_TRUE(done(*p, mix.signal));
  expect_right(mix);
}

TEST_F(PreemptionTest, AnUnmapThatHangsTimesOutAndResetFreesTheDevice) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  submit_mix(*p, queue, 8, 100, Gate::closed);
  ASSERT_TRUE(eventually([&] { return gpu->waves_resident(1) > 0; }));
  gpu->inject({.unmap_delay_ns = 0, .hws_hang = true, .drop_doorbells = 0});
  EXPECT_FALSE(gpu->unmap_queues(10'000'000));
  EXPECT_FALSE(gpu->unmap_queues(10'000'000));
  gpu->reset();
  EXPECT_EQ(gpu->waves_resident(1), 0u);
  AqlQueue next(*p);
  run({next.mqd});
  const Mix mix = submit_mix(*p, next, 8, 10);
  ASSERT_TRUE(done(*p, mix.signal));
  expect_right(mix);
}

TEST_F(PreemptionTest, AnUnmapOfDrainingWavesThatNeverEndTimesOut) {
  start();
  auto p = process();
  QueueOptions options;
  options.save_area = 0;
  AqlQueue queue(*p, options);
  auto args = p->buffer<u64>(1);
  auto flags = p->buffer<u32>(3);
  args[0] = flags.va;
  run({queue.mqd});
  Dispatch dispatch;
  dispatch.kernel = p->load(assemble(kSpin));
  dispatch.kernarg = args.va;
  queue.submit(dispatch);
  ASSERT_TRUE(eventually([&] { return gpu->waves_resident(1) > 0; }));
  EXPECT_FALSE(gpu->unmap_queues(20'000'000));
  gpu->reset();
}

TEST_F(PreemptionTest, QuiesceReturnsWhileAKernelSpins) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  const Mix mix = submit_mix(*p, queue, 16, 300);
  for (int i = 0; i < 200; ++i) {
    gpu->quiesce();
  }
  ASSERT_TRUE(done(*p, mix.signal));
  expect_right(mix);
}

}  // namespace
}  // namespace vgpu::device::test
