// SMEM: scalar loads and stores, descriptors, clocks.
#include "isa/exec_memory_support.h"

namespace vgpu::isa::test {
namespace {

class ScalarMemory : public MemoryTest {
 protected:
  // Registers s[40:..] hold the dwords at va, and the one after them is as before.
  void expect_loaded(u64 va, int count, u32 after) {
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(wave.s[40 + i], raw(va + 4 * i, 4)) << i;
    }
    EXPECT_EQ(wave.s[40 + count], after);
  }
};
EXEC_TEST_SUITE(ScalarMemory);

std::string scalars(int first, int count) {
  const std::string start = std::to_string(first);
  return count == 1 ? "s" + start : "s[" + start + ":" + std::to_string(first + count - 1) + "]";
}

std::string suffix(int count) {
  return count == 1 ? "dword " : "dwordx" + std::to_string(count) + " ";
}

TEST_P(ScalarMemory, LoadsWithEveryKindOfOffset) {
  for (int count : {1, 2, 4, 8, 16}) {
    SCOPED_TRACE(count);
    const std::string load = "s_load_" + suffix(count) + scalars(40, count) + ", s[4:5], ";
    // The last one crosses into a page that lies elsewhere on the host.
    for (u64 va : {kData + 64, kScattered + kPageSize - 4}) {
      randomize();
      set_s64(4, va);
      u32 after = wave.s[40 + count];
      ASSERT_EQ(run(load + "0"), Stop::end);
      expect_loaded(va, count, after);

      set_s64(4, va + 0x100);
      ASSERT_EQ(run(load + "-0x100"), Stop::end);
      expect_loaded(va, count, after);

      set_s64(4, va - 0x90000000);
      wave.s[8] = 0x90000000;
      ASSERT_EQ(run(load + "s8"), Stop::end);
      expect_loaded(va, count, after);
    }
  }
}

TEST_P(ScalarMemory, IgnoresTheLowBitsOfBaseAndOffset) {
  set_s64(4, kData + 65);
  wave.s[8] = 7;
  ASSERT_EQ(run("s_load_dword s40, s[4:5], s8"), Stop::end);
  EXPECT_EQ(wave.s[40], raw(kData + 68, 4));
}

TEST_P(ScalarMemory, FaultsOutsideOfMemory) {
  set_s64(4, kData + kDataPages * kPageSize - 8);
  EXPECT_EQ(run("s_load_dwordx4 s[40:43], s[4:5], 0"), Stop::fault);
  EXPECT_EQ(wave.fault.va, kData + kDataPages * kPageSize);
  EXPECT_EQ(wave.pc, kCode);
  EXPECT_FALSE(wave.fault.write);
  set_s64(4, 0);
  EXPECT_EQ(run("s_store_dword s40, s[4:5], 0"), Stop::fault);
  EXPECT_TRUE(wave.fault.write);
}

TEST_P(ScalarMemory, Stores) {
  for (int count : {1, 2, 4}) {
    const u64 va = kScattered + kPageSize - 8;
    set_s64(4, va);
    const u32 after = raw(va + 4 * count, 4);
    ASSERT_EQ(run("s_store_" + suffix(count) + scalars(40, count) + ", s[4:5], 0"), Stop::end);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(raw(va + 4 * i, 4), wave.s[40 + i]);
    }
    EXPECT_EQ(raw(va + 4 * count, 4), after);
  }
}

TEST_P(ScalarMemory, BufferLoadsGiveZeroBeyondTheRecords) {
  set_s64(4, kData + 64);
  wave.s[6] = 24;  // bytes: the stride is zero
  wave.s[7] = 0;
  ASSERT_EQ(run("s_buffer_load_dwordx4 s[40:43], s[4:7], 16"), Stop::end);
  EXPECT_EQ(wave.s[40], raw(kData + 80, 4));
  EXPECT_EQ(wave.s[41], raw(kData + 84, 4));
  EXPECT_EQ(wave.s[42], 0u);
  EXPECT_EQ(wave.s[43], 0u);
  wave.s[5] |= 8 << 16;  // three records of eight bytes
  wave.s[6] = 3;
  ASSERT_EQ(run("s_buffer_load_dwordx2 s[40:41], s[4:7], 16"), Stop::end);
  EXPECT_EQ(wave.s[41], raw(kData + 84, 4));
  const u32 kept = raw(kData + 88, 4);
  ASSERT_EQ(run("s_buffer_store_dword s40, s[4:7], 24"), Stop::end);
  EXPECT_EQ(raw(kData + 88, 4), kept);
}

TEST_P(ScalarMemory, ReadsClocks) {
  ASSERT_EQ(run("s_memtime s[40:41]\ns_memrealtime s[42:43]"), Stop::end);
  EXPECT_EQ(s64(40), machine.shader_time());
  EXPECT_EQ(s64(42), machine.real_time());
}

TEST_P(ScalarMemory, CacheControlDoesNothing) {
  EXPECT_EQ(run("s_dcache_inv\ns_dcache_wb\ns_dcache_inv_vol\ns_dcache_wb_vol\nbuffer_wbl2\n"
                "buffer_invl2\nbuffer_wbinvl1\nbuffer_wbinvl1_vol"),
            Stop::end);
}

}  // namespace
}  // namespace vgpu::isa::test
