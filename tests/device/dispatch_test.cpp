// Kernels are launched with the state the compiler expects, and packets complete.
#include "device/device_support.h"

namespace vgpu::device::test {
namespace {

// c[i] = a[i] + b[i]; kernarg: a, b, c. Work-groups of 64.
constexpr char kVectorAdd[] = R"(
  s_load_dwordx4 s[8:11], s[2:3], 0x0
  s_load_dwordx2 s[12:13], s[2:3], 0x10
  s_lshl_b32 s4, s4, 6
  v_add_u32 v0, s4, v0
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[8:9]
  global_load_dword v2, v0, s[10:11]
  s_waitcnt vmcnt(0)
  v_add_u32 v1, v1, v2
  global_store_dword v0, v1, s[12:13]
  s_endpgm
)";

class DispatchTest : public DeviceTest {};

TEST_F(DispatchTest, VectorAddWritesEverySum) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  constexpr u32 kCount = 64 * 100;
  auto a = p->buffer<u32>(kCount), b = p->buffer<u32>(kCount), c = p->buffer<u32>(kCount);
  for (u32 i = 0; i < kCount; ++i) {
    a[i] = i;
    b[i] = i * 1000;
  }
  auto args = p->buffer<u64>(3);
  args[0] = a.va, args[1] = b.va, args[2] = c.va;
  const u64 signal = p->signal(1);
  run({queue.mqd});
  queue.submit({.kernel = p->load(assemble(kVectorAdd)),
                .kernarg = args.va,
                .grid = {kCount, 1, 1},
                .signal = signal});
  ASSERT_TRUE(done(*p, signal));
  for (u32 i = 0; i < kCount; ++i) {
    ASSERT_EQ(c[i], i * 1001) << i;
  }
  EXPECT_TRUE(eventually([&] { return queue.read_index() == 1; }));
  EXPECT_LE(p->signal_at(signal).start_ts, p->signal_at(signal).end_ts);
  EXPECT_NE(p->signal_at(signal).start_ts, 0u);
}

}  // namespace
}  // namespace vgpu::device::test
