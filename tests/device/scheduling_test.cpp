// Who gets the CUs and the hardware slots.
#include <algorithm>
#include <set>

#include "device/device_kernels.h"
#include "device/device_support.h"

namespace vgpu::device::test {
namespace {

class SchedulingTest : public DeviceTest {
 protected:
  // A dispatch of kSpin groups that fill the CUs they may use: one group of 16 waves fills a CU
  // when each wave takes half of a SIMD's registers.
  struct Spinner {
    Buffer<u32> flags;
    u64 kernarg;
    u64 signal;
    u32 started() const { return __atomic_load_n(&flags[1], __ATOMIC_ACQUIRE); }
    u32 ended() const { return __atomic_load_n(&flags[2], __ATOMIC_ACQUIRE); }
    void release() const { __atomic_store_n(&flags[0], 1u, __ATOMIC_RELEASE); }
  };
  Spinner spinner(Process& p) {
    Spinner s{p.buffer<u32>(3), 0, p.signal(1)};
    auto args = p.buffer<u64>(1);
    args[0] = s.flags.va;
    s.kernarg = args.va;
    return s;
  }
  // One wave per group, `vgprs` each.
  void submit_spinner(Process& p, AqlQueue& queue, const Spinner& s, u32 groups, u32 vgprs) {
    KernelOptions options;
    options.vgprs = vgprs;
    Dispatch dispatch;
    dispatch.kernel = p.load(assemble(kSpin, options));
    dispatch.kernarg = s.kernarg;
    dispatch.grid[0] = groups * 64;
    dispatch.signal = s.signal;
    queue.submit(dispatch);
  }
  u64 append_args(Process& p, u64 log, u32 value) {
    auto args = p.buffer<u64>(2);
    args[0] = log, args[1] = value;
    return args.va;
  }
  Dispatch append(Process& p, u64 kernel, u64 log, u32 value, u64 signal) {
    Dispatch dispatch;
    dispatch.kernel = kernel;
    dispatch.kernarg = append_args(p, log, value);
    dispatch.signal = signal;
    return dispatch;
  }
};

TEST_F(SchedulingTest, OnlyAsManyGroupsRunAsTheCusHold) {
  config.cus = 2;
  start();
  auto p = process();
  AqlQueue queue(*p);
  const Spinner s = spinner(*p);
  run({queue.mqd});
  submit_spinner(*p, queue, s, 20, 512);  // one wave per SIMD: 2 CUs x 4
  ASSERT_TRUE(eventually([&] { return s.started() == 8; }));
  EXPECT_EQ(gpu->waves_resident(1), 8u);
  s.release();
  ASSERT_TRUE(done(*p, s.signal));
  EXPECT_EQ(s.ended(), 20u);
}

TEST_F(SchedulingTest, ACuMaskLimitsItsQueueAlone) {
  config.cus = 4;
  start();
  auto p = process();
  QueueOptions masked_options;
  masked_options.cu_mask = {0x2};
  AqlQueue masked(*p, masked_options), free(*p);
  const Spinner narrow = spinner(*p), wide = spinner(*p);
  run({masked.mqd, free.mqd});
  submit_spinner(*p, masked, narrow, 10, 512);
  ASSERT_TRUE(eventually([&] { return narrow.started() == 4; }));
  submit_spinner(*p, free, wide, 20, 512);
  ASSERT_TRUE(eventually([&] { return wide.started() == 12; }));
  EXPECT_EQ(narrow.started(), 4u);
  narrow.release();
  wide.release();
  EXPECT_TRUE(done(*p, narrow.signal));
  EXPECT_TRUE(done(*p, wide.signal));
}

TEST_F(SchedulingTest, RoomGoesToTheHighestPriorityAndNobodyIsPreemptedForIt) {
  config.cus = 1;
  config.workers = 1;
  start();
  auto p = process();
  QueueOptions low, normal, high;
  low.priority = 0, normal.priority = 7, high.priority = 15;
  AqlQueue blocker(*p), low_queue(*p, low), normal_queue(*p, normal), high_queue(*p, high);
  auto log = p->buffer<u32>(4);
  KernelOptions big;
  big.vgprs = 512;
  const u64 kernel = p->load(assemble(kAppend, big));
  const Spinner s = spinner(*p);
  run({blocker.mqd, low_queue.mqd, normal_queue.mqd, high_queue.mqd});
  submit_spinner(*p, blocker, s, 4, 512);
  ASSERT_TRUE(eventually([&] { return s.started() == 4; }));
  std::vector<u64> signals;
  u32 value = 1;
  for (AqlQueue* queue : {&low_queue, &normal_queue, &high_queue}) {
    signals.push_back(p->signal(1));
    queue->submit(append(*p, kernel, log.va, value++, signals.back()));
  }
  // All three are known to wait for room once the device has seen their packets.
  ASSERT_TRUE(eventually([&] { return gpu->stats().dispatches == 4; }));
  EXPECT_EQ(log[0], 0u);
  s.release();
  for (const u64 signal : signals) {
    ASSERT_TRUE(done(*p, signal));
  }
  EXPECT_EQ(std::vector<u32>(&log[1], &log[4]), (std::vector<u32>{3, 2, 1}));
}

TEST_F(SchedulingTest, GroupsThatWaitForEachOtherMakeProgress) {
  config.workers = 1;
  start();
  auto p = process();
  AqlQueue consumer(*p), producer(*p);
  const Spinner s = spinner(*p);
  run({consumer.mqd, producer.mqd});
  submit_spinner(*p, consumer, s, 30, 8);
  // The producer's kernel stores the flag the others spin on: kAppend with log = flags - 4 bytes
  // would do; a plain append to flags makes flags[0] non-zero.
  producer.submit(append(*p, p->load(assemble(kAppend)), s.flags.va, 30, p->signal(1)));
  EXPECT_TRUE(done(*p, s.signal));
}

TEST_F(SchedulingTest, SixtyFiveQueuesOnEightSlotsAllFinish) {
  config.hqds = 8;
  config.quantum_instructions = 20'000;
  start();
  auto p = process();
  std::vector<std::unique_ptr<AqlQueue>> queues;
  std::vector<MqdPtr> list;
  QueueOptions options;
  options.packets = 64;
  options.save_area = 0x1000 + 0x40000;
  for (int i = 0; i < 65; ++i) {
    queues.push_back(std::make_unique<AqlQueue>(*p, options));
    list.push_back(queues.back()->mqd);
  }
  // 64 queues spin until the last one has run.
  const Spinner s = spinner(*p);
  run(list);
  for (int i = 0; i < 64; ++i) {
    Spinner each = s;
    each.signal = 0;
    submit_spinner(*p, *queues[i], each, 1, 8);
  }
  ASSERT_TRUE(eventually([&] { return s.started() == 64; }));
  EXPECT_EQ(gpu->stats().hqds_active, 8u);
  // Queues change places while they are looked at one after the other.
  EXPECT_TRUE(eventually([&] {
    return 57 == std::count_if(list.begin(), list.end(), [&](const MqdPtr& mqd) {
             return gpu->queue_state(*mqd) == QueueState::waiting;
           });
  }));
  const u64 last = p->signal(1);
  queues[64]->submit(append(*p, p->load(assemble(kAppend)), s.flags.va, 64, last));
  EXPECT_TRUE(done(*p, last));
  EXPECT_TRUE(eventually([&] { return s.ended() == 64; }));
}

TEST_F(SchedulingTest, IdleQueuesWithoutASlotRunWhenTheyAreRung) {
  config.hqds = 2;
  start();
  auto p = process();
  std::vector<std::unique_ptr<AqlQueue>> queues;
  std::vector<MqdPtr> list;
  QueueOptions options;
  options.save_area = 0x1000 + 0x40000;
  for (int i = 0; i < 10; ++i) {
    queues.push_back(std::make_unique<AqlQueue>(*p, options));
    list.push_back(queues.back()->mqd);
  }
  run(list);
  for (int round = 0; round < 20; ++round) {
    for (const auto& queue : queues) {
      const u64 signal = p->signal(1);
      queue->push_barrier({}, signal);
      queue->ring();
      ASSERT_TRUE(done(*p, signal));
    }
  }
}

TEST_F(SchedulingTest, MoreProcessesThanVmidsTakeTurns) {
  config.vmids = 2;
  config.quantum_instructions = 20'000;
  start();
  std::vector<std::shared_ptr<Process>> processes;
  std::vector<std::unique_ptr<AqlQueue>> queues;
  std::vector<Spinner> spinners;
  std::vector<MqdPtr> list;
  for (u32 i = 0; i < 5; ++i) {
    processes.push_back(process(i + 1));
    for (int j = 0; j < 2; ++j) {
      queues.push_back(std::make_unique<AqlQueue>(*processes.back()));
      list.push_back(queues.back()->mqd);
    }
    spinners.push_back(spinner(*processes.back()));
  }
  run(list);
  for (u32 i = 0; i < 5; ++i) {
    submit_spinner(*processes[i], *queues[i * 2], spinners[i], 3, 8);
  }
  for (const Spinner& s : spinners) {
    EXPECT_TRUE(eventually([&] { return s.started() == 3; }));
  }
  std::set<u32> vmids;
  for (const HqdView& view : gpu->hqds()) {
    if (view.mqd) {
      vmids.insert(view.vmid);
    }
  }
  EXPECT_EQ(vmids.size(), 2u);
  for (u32 i = 0; i < 5; ++i) {
    spinners[i].release();
    EXPECT_TRUE(done(*processes[i], spinners[i].signal));
  }
}

TEST_F(SchedulingTest, ALongKernelAndAStreamOfShortOnesShareTheDevice) {
  config.workers = 1;
  start();
  auto p = process();
  AqlQueue longer(*p), shorter(*p);
  const Spinner s = spinner(*p);
  run({longer.mqd, shorter.mqd});
  submit_spinner(*p, longer, s, 1, 8);
  ASSERT_TRUE(eventually([&] { return s.started() == 1; }));
  const u64 signal = p->signal(1);
  Dispatch many;
  many.kernel = p->load(assemble(kEmpty));
  many.grid[0] = 64 * 20000;
  many.signal = signal;
  shorter.submit(many);
  EXPECT_TRUE(done(*p, signal));
  s.release();
  EXPECT_TRUE(done(*p, s.signal));
}

}  // namespace
}  // namespace vgpu::device::test
