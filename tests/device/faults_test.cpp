// When a kernel goes wrong, its process hears of it as from hardware, and others do not notice.
#include "device/device_kernels.h"
#include "device/device_support.h"

namespace vgpu::device::test {
namespace {

class FaultTest : public DeviceTest {
 protected:
  void submit(Process& p, AqlQueue& queue, const char* code) {
    Dispatch dispatch;
    dispatch.kernel = p.load(assemble(code));
    queue.submit(dispatch);
  }
  void expect_alive(Process& p, AqlQueue& queue) {
    const u64 signal = p.signal(1);
    Dispatch dispatch;
    dispatch.kernel = p.load(assemble(kEmpty));
    dispatch.signal = signal;
    queue.submit(dispatch);
    EXPECT_TRUE(done(p, signal));
  }
  void expect_queue_error(const char* code, QueueError error, u64 value) {
    start();
    auto p = process(1), q = process(2);
    AqlQueue bad(*p), good(*q);
    run({bad.mqd, good.mqd});
    submit(*p, bad, code);
    ASSERT_TRUE(eventually([&] { return !host.errors().empty(); }));
    EXPECT_EQ(host.errors().front().error, error);
    EXPECT_EQ(host.errors().front().code, value);
    EXPECT_EQ(bad.inactive_value(), value);
    expect_alive(*q, good);
    // The runtime now suspends the queue: it must be possible to take it off and leave it off.
    run({good.mqd});
    expect_alive(*q, good);
  }
};

TEST_F(FaultTest, AWildStoreIsReportedAndStopsTheProcess) {
  start();
  auto p = process(1), q = process(2);
  AqlQueue bad(*p), sibling(*p), good(*q);
  run({bad.mqd, sibling.mqd, good.mqd});
  submit(*p, bad, R"(
    v_mov_b32 v0, 0x1000
    v_mov_b32 v1, 0x77
    global_store_dword v[0:1], v0, off
    s_endpgm
  )");
  ASSERT_TRUE(eventually([&] { return !host.faults().empty(); }));
  EXPECT_EQ(host.faults().front().pasid, 1u);
  EXPECT_EQ(host.faults().front().fault.va, 0x7700001000u);
  EXPECT_TRUE(host.faults().front().fault.write);
  EXPECT_TRUE(host.faults().front().fault.not_present);
  expect_alive(*q, good);
  run({good.mqd});
  expect_alive(*q, good);
}

TEST_F(FaultTest, JumpingToNowhereIsAFault) {
  start();
  auto p = process(1);
  AqlQueue bad(*p);
  run({bad.mqd});
  submit(*p, bad, R"(
    s_mov_b32 s0, 0x4000
    s_mov_b32 s1, 0x55
    s_setpc_b64 s[0:1]
  )");
  ASSERT_TRUE(eventually([&] { return !host.faults().empty(); }));
  EXPECT_EQ(host.faults().front().fault.va, 0x5500004000u);
}

TEST_F(FaultTest, AnIllegalInstructionStopsTheQueue) {
  expect_queue_error(".long 0xbf80ffff, 0xbeffffff\ns_endpgm", QueueError::illegal_instruction,
                     abi::inactive_illegal_instruction);
}

TEST_F(FaultTest, TrapTwoIsAnAbort) {
  expect_queue_error("s_trap 2\ns_endpgm", QueueError::trap, abi::inactive_trap);
}

TEST_F(FaultTest, AnAddressOfMoreThan48BitsIsAnApertureViolation) {
  expect_queue_error(R"(
    v_mov_b32 v0, 0
    v_mov_b32 v1, 0x12340000
    global_load_dword v2, v[0:1], off
    s_endpgm
  )",
                     QueueError::aperture_violation, abi::inactive_memory_violation);
}

TEST_F(FaultTest, TrapOneIsSkipped) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  run({queue.mqd});
  const u64 signal = p->signal(1);
  Dispatch dispatch;
  dispatch.kernel = p->load(assemble("s_trap 1\ns_trap 1\ns_endpgm"));
  dispatch.signal = signal;
  queue.submit(dispatch);
  EXPECT_TRUE(done(*p, signal));
  EXPECT_TRUE(host.errors().empty());
}

TEST_F(FaultTest, AnInterruptOfAWaveReachesTheHostWhileItRunsOn) {
  start();
  auto p = process(9);
  AqlQueue queue(*p);
  auto args = p->buffer<u64>(1);
  auto flag = p->buffer<u32>(1);
  args[0] = flag.va;
  run({queue.mqd});
  const u64 signal = p->signal(1);
  Dispatch dispatch;
  dispatch.kernel = p->load(assemble(R"(
    s_load_dwordx2 s[8:9], s[2:3], 0x0
    s_mov_b32 m0, 33
    s_nop 0
    s_sendmsg sendmsg(MSG_INTERRUPT)
    v_mov_b32 v0, 0
    s_waitcnt lgkmcnt(0)
  wait:
    global_load_dword v2, v0, s[8:9] glc
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v2
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 wait
    s_endpgm
  )"));
  dispatch.kernarg = args.va;
  dispatch.signal = signal;
  queue.submit(dispatch);
  ASSERT_TRUE(eventually([&] { return !host.events().empty(); }));
  EXPECT_EQ(host.events().front(), (std::pair<u32, u32>(9, 33)));
  __atomic_store_n(&flag[0], 1u, __ATOMIC_RELEASE);
  EXPECT_TRUE(done(*p, signal));
}

TEST_F(FaultTest, AScribbledSaveAreaHurtsOnlyItsOwnProcess) {
  start();
  auto p = process(1), q = process(2);
  AqlQueue victim(*p), good(*q);
  auto args = p->buffer<u64>(1);
  auto flags = p->buffer<u32>(3);
  args[0] = flags.va;
  run({victim.mqd, good.mqd});
  Dispatch dispatch;
  dispatch.kernel = p->load(assemble(kSpin));
  dispatch.kernarg = args.va;
  dispatch.grid[0] = 64 * 8;
  victim.submit(dispatch);
  ASSERT_TRUE(eventually([&] { return __atomic_load_n(&flags[1], __ATOMIC_ACQUIRE) == 8; }));
  unmap();
  u8* area = p->host(victim.mqd->properties.save_area);
  std::fill(area, area + victim.mqd->properties.save_area_size, u8{0xa5});
  run({victim.mqd, good.mqd});
  for (int i = 0; i < 20; ++i) {
    expect_alive(*q, good);
    run({victim.mqd, good.mqd});
  }
}

}  // namespace
}  // namespace vgpu::device::test
