// MUBUF: addresses and range checks of buffer descriptors, atomics, LDS.
#include <algorithm>

#include "isa/exec_memory_support.h"

namespace vgpu::isa::test {
namespace {

class Buffers : public MemoryTest {
 protected:
  // A descriptor in s[4:7].
  void describe(u64 base, u32 stride, u32 records, u32 word3 = 0, bool swizzle = false) {
    set_s64(4, base);
    wave.s[5] |= stride << 16 | u32{swizzle} << 31;
    wave.s[6] = records;
    wave.s[7] = word3;
  }
};
EXEC_TEST_SUITE(Buffers);

TEST_P(Buffers, LoadsEveryShapeAndZeroBeyondTheBytes) {
  describe(kScattered + 100, 0, 4000);
  wave.s[8] = 32;
  for (const LoadCase& test : load_cases()) {
    SCOPED_TRACE(test.suffix);
    load(std::string("buffer_load_") + test.suffix + " " + registers(40, test.registers) +
         ", v2, s[4:7], s8 offen offset:12");
    for (u64 exec : exec_masks()) {
      for (u32 range : {3900u, 5000u}) {
        wave.set_exec(exec);
        std::vector<u32> before(v(40), v(40) + 4 * kLanes);
        for (u32 lane = 0; lane < kLanes; ++lane) {
          v(2)[lane] = random32() % range;
        }
        wave.pc = kCode;
        ASSERT_EQ(resume(), Stop::end);
        for (u32 lane = 0; lane < kLanes; ++lane) {
          for (int i = 0; i < 4; ++i) {
            u32 expected = before[i * kLanes + lane];
            if (active(lane) && i < test.registers) {
              // Each dword is checked on its own.
              const u32 offset = v(2)[lane] + 12 + 32 + i * 4;
              const int bytes = std::min(test.bytes, 4);
              const u32 value = offset + bytes <= 4000 ? raw(kScattered + 100 + offset, bytes) : 0;
              expected = test.value(value);
            }
            ASSERT_EQ(v(40 + i)[lane], expected) << "lane " << lane << " register " << i;
          }
        }
      }
    }
  }
}

TEST_P(Buffers, StoresEveryShapeAndDropsWhatIsBeyondTheBytes) {
  describe(kScattered + 100, 0, 4000);
  for (const StoreCase& test : store_cases()) {
    SCOPED_TRACE(test.suffix);
    load(std::string("buffer_store_") + test.suffix + " " + registers(40, test.registers) +
         ", v2, s[4:7], 0 offen");
    for (u64 exec : exec_masks()) {
      wave.set_exec(exec);
      std::vector<u8> expected(data(kData), data(kData) + kDataPages * kPageSize);
      for (u32 lane = 0; lane < kLanes; ++lane) {
        v(2)[lane] = lane * 64 + random32() % 48;
        for (int i = 0; active(lane) && i < test.bytes; ++i) {
          if (v(2)[lane] + i / 4 * 4 + std::min(test.bytes, 4) <= 4000) {
            expected[&byte(kScattered + 100 + v(2)[lane] + i) - data(kData)] =
                static_cast<u8>(v(40 + i / 4)[lane] >> test.shift >> i % 4 * 8);
          }
        }
      }
      wave.pc = kCode;
      ASSERT_EQ(resume(), Stop::end);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), data(kData)));
    }
  }
}

// As compilers mask lanes: no dword of such a lane is loaded or stored, wherever the sum of its
// offset, the instruction's and the dword's place would wrap to.
TEST_P(Buffers, AnOffsetOfMinusOneMasksEveryDwordOfALane) {
  describe(kData, 0, 4096);
  for (const char* offset : {"", " offset:1", " offset:16", " offset:4095"}) {
    SCOPED_TRACE(offset);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      v(2)[lane] = ~0u;
      for (u32 i = 0; i < 4; ++i) {
        v(40 + i)[lane] = v(44 + i)[lane] = random32();
      }
    }
    const std::vector<u8> before(data(kData), data(kData) + kDataPages * kPageSize);
    ASSERT_EQ(run(std::string("buffer_store_dwordx4 v[40:43], v2, s[4:7], 0 offen") + offset +
                  "\nbuffer_load_dwordx4 v[44:47], v2, s[4:7], 0 offen" + offset),
              Stop::end);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), data(kData)));
    for (u32 lane = 0; lane < kLanes; ++lane) {
      for (u32 i = 0; i < 4; ++i) {
        EXPECT_EQ(v(44 + i)[lane], 0u) << "lane " << lane << " dword " << i;
      }
    }
  }
}

TEST_P(Buffers, MultipliesTheIndexByTheStride) {
  describe(kData, 24, 24 * 64);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    v(2)[lane] = lane;      // index
    v(3)[lane] = lane % 5;  // offset
  }
  ASSERT_EQ(run("buffer_load_dword v40, v2, s[4:7], 0 idxen offset:4\n"
                "buffer_load_dword v41, v[2:3], s[4:7], 0 idxen offen offset:4"),
            Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(v(40)[lane], raw(kData + lane * 24 + 4, 4));
    EXPECT_EQ(v(41)[lane], raw(kData + lane * 24 + 4 + lane % 5, 4));
  }
}

TEST_P(Buffers, InterleavesRecordsOfSwizzledBuffers) {
  // Sixteen neighbours interleaved by dwords, records of 8 bytes, 40 of them.
  describe(kData, 8, 40, 1 << 21, true);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    v(2)[lane] = lane;
  }
  ASSERT_EQ(run("buffer_load_dwordx2 v[40:41], v2, s[4:7], 0 idxen"), Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    for (u32 i = 0; i < 2; ++i) {
      const u32 at = lane / 16 * 8 * 16 + i * 4 * 16 + lane % 16 * 4;
      EXPECT_EQ(v(40 + i)[lane], lane < 40 ? raw(kData + at, 4) : 0) << lane;
    }
  }
}

TEST_P(Buffers, AtomicsCheckTheRangeToo) {
  describe(kData, 0, 32 * 4);
  std::vector<u32> old(kLanes);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    v(2)[lane] = lane * 4;
    old[lane] = raw(kData + lane * 4, 4);
  }
  const std::vector<u32> operand(v(40), v(40) + kLanes);
  ASSERT_EQ(run("buffer_atomic_add v40, v2, s[4:7], 0 offen glc"), Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(v(40)[lane], lane < 32 ? old[lane] : 0);
    EXPECT_EQ(raw(kData + lane * 4, 4), lane < 32 ? old[lane] + operand[lane] : old[lane]);
  }
}

TEST_P(Buffers, MovesBetweenMemoryAndLds) {
  describe(kData, 0, 4096);
  wave.s[op_m0] = 0x200;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    v(2)[lane] = lane * 8;
  }
  ASSERT_EQ(run("buffer_load_dword v2, s[4:7], 0 offen offset:4 lds"), Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(lds_at<u32>(0x204 + lane * 4), raw(kData + lane * 8 + 4, 4));
  }
  ASSERT_EQ(run("buffer_store_lds_dword s[4:7], 0 offset:1024 lds"), Stop::end);
  EXPECT_EQ(raw(kData + 1024, 4), lds_at<u32>(0x200 + 1024 + 63 * 4))
      << "every lane writes the same place; the last one wins";
}

TEST_P(Buffers, FaultsWhereTheDescriptorPointsToNothing) {
  describe(0x10000, 0, 4096);
  EXPECT_EQ(run("buffer_load_dword v40, off, s[4:7], 0"), Stop::fault);
  EXPECT_EQ(wave.fault.va, 0x10000u);
}

}  // namespace
}  // namespace vgpu::isa::test
