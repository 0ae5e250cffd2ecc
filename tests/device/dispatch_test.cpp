// Kernels are launched with the state the compiler expects, and packets complete.
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "device/device_kernels.h"
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

// out[6 * wave + n] = s4, s5, s6 (work-group id), dispatch_ptr's grid size x, EXEC lo, EXEC hi of
// each wave's first lane; ids[item] = v0. kernarg: out, ids, next item (0).
constexpr char kLaunchState[] = R"(
  s_load_dwordx4 s[8:11], s[2:3], 0x0
  s_load_dwordx2 s[12:13], s[2:3], 0x10
  s_load_dword s14, s[0:1], 12
  s_mov_b64 s[16:17], exec
  v_mov_b32 v1, v0
  v_mov_b32 v10, 0
  v_mov_b32 v11, 1
  s_waitcnt lgkmcnt(0)
  global_atomic_add v2, v10, v11, s[12:13] glc
  s_waitcnt vmcnt(0)
  v_lshlrev_b32 v2, 2, v2
  global_store_dword v2, v1, s[10:11]
  s_ff1_i32_b64 s18, exec
  s_lshl_b64 exec, 1, s18
  global_atomic_add v2, v10, v11, s[12:13] offset:4 glc
  s_waitcnt vmcnt(0)
  v_mul_u32_u24 v2, 24, v2
  v_mov_b32 v4, s4
  v_mov_b32 v5, s5
  v_mov_b32 v6, s6
  v_mov_b32 v7, s14
  v_mov_b32 v8, s16
  v_mov_b32 v9, s17
  global_store_dwordx4 v2, v[4:7], s[8:9]
  global_store_dwordx2 v2, v[8:9], s[8:9] offset:16
  s_waitcnt vmcnt(0)
  s_endpgm
)";

TEST_F(DispatchTest, WavesStartWithTheStateTheCompilerExpects) {
  start();
  auto p = process();
  AqlQueue queue(*p);
  // 5 x 3 x 2 items in groups of 3 x 2 x 2: the groups at the edges are partial.
  auto out = p->buffer<u32>(6 * 4), ids = p->buffer<u32>(30), counters = p->buffer<u32>(2);
  auto args = p->buffer<u64>(3);
  args[0] = out.va, args[1] = ids.va, args[2] = counters.va;
  KernelOptions options;
  options.vgprs = 16;
  options.work_item_ids = 2;
  Dispatch dispatch;
  dispatch.kernel = p->load(assemble(kLaunchState, options));
  dispatch.kernarg = args.va;
  dispatch.grid[0] = 5, dispatch.grid[1] = 3, dispatch.grid[2] = 2;
  dispatch.group[0] = 3, dispatch.group[1] = 2, dispatch.group[2] = 2;
  dispatch.signal = p->signal(1);
  run({queue.mqd});
  queue.submit(dispatch);
  ASSERT_TRUE(done(*p, dispatch.signal));
  ASSERT_EQ(counters[0], 30u);
  ASSERT_EQ(counters[1], 4u);
  std::map<std::array<u32, 3>, u64> exec;
  for (u32 wave = 0; wave < 4; ++wave) {
    const u32* w = &out[wave * 6];
    exec[{w[0], w[1], w[2]}] = w[4] | u64{w[5]} << 32;
    EXPECT_EQ(w[3], 5u);
  }
  const std::map<std::array<u32, 3>, u64> expected = {
      {{0, 0, 0}, 0xfff}, {{1, 0, 0}, 0xff}, {{0, 1, 0}, 0x3f}, {{1, 1, 0}, 0xf}};
  EXPECT_EQ(exec, expected);
  // Work-item ids are packed into v0, and counted within the partial group.
  std::multiset<u32> actual_ids(&ids[0], &ids[0] + 30), expected_ids;
  for (const auto& [id, mask] : expected) {
    const u32 width = id[0] == 0 ? 3 : 2;
    const u32 height = id[1] == 0 ? 2 : 1;
    for (u32 i = 0; i < width * height * 2; ++i) {
      expected_ids.insert(i % width | i / width % height << 10 | i / width / height << 20);
    }
  }
  EXPECT_EQ(actual_ids, expected_ids);
}

TEST_F(DispatchTest, ABlitShaderOfTheRuntimeIsAnAmdKernelCode) {
  // The CP's fields lie where amd_kernel_code_t has them, too: entry offset, RSRC1, RSRC2 and
  // properties; ACCUM_OFFSET is in the upper half of max_scratch_backing_memory_byte_size.
  struct AmdKernelCode {
    u32 version_major, version_minor;
    u16 machine_kind, machine_major, machine_minor, machine_stepping;
    i64 entry_offset, prefetch_offset;
    u64 prefetch_size, max_scratch;
    u32 rsrc1, rsrc2, properties;
    u8 rest[196];
  };
  static_assert(sizeof(AmdKernelCode) == 256);
  start();
  auto p = process();
  AqlQueue queue(*p);
  KernelCode kernel = assemble(kVectorAdd);
  abi::KernelDescriptor descriptor;
  std::memcpy(&descriptor, kernel.image.data(), sizeof(descriptor));
  AmdKernelCode code{};
  code.version_major = 1;
  code.machine_kind = 1;
  code.entry_offset = 256;
  code.max_scratch = u64{descriptor.rsrc3} << 32;
  code.rsrc1 = descriptor.rsrc1;
  code.rsrc2 = descriptor.rsrc2;
  code.properties = descriptor.properties;
  std::memcpy(kernel.image.data(), &code, sizeof(code));
  auto a = p->buffer<u32>(64);
  auto args = p->buffer<u64>(3);
  args[0] = args[1] = args[2] = a.va;
  a[63] = 21;
  Dispatch dispatch;
  dispatch.kernel = p->load(kernel);
  dispatch.kernarg = args.va;
  dispatch.signal = p->signal(1);
  run({queue.mqd});
  queue.submit(dispatch);
  ASSERT_TRUE(done(*p, dispatch.signal));
  EXPECT_EQ(a[63], 42u);
}

}  // namespace
}  // namespace vgpu::device::test
