// FLAT, GLOBAL and SCRATCH loads and stores.
#include <algorithm>

#include "isa/exec_memory_support.h"

namespace vgpu::isa::test {
namespace {

class GlobalMemory : public MemoryTest {
 protected:
  void set_addresses(const std::vector<u64>& va, u64 minus) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      set_v64(2, lane, va[lane] - minus);
    }
  }

  // Runs the loaded program and compares the destination registers v[40:43] with memory.
  void check_load(const LoadCase& test, const std::vector<u64>& va) {
    std::vector<u32> before(v(40), v(40) + 4 * kLanes);
    wave.pc = kCode;
    ASSERT_EQ(resume(), Stop::end) << wave.fault.reason;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; i < 4; ++i) {
        u32 expected = before[i * kLanes + lane];
        if (active(lane) && i < test.registers) {
          expected = test.value(raw(va[lane] + i * 4, std::min(test.bytes, 4)));
        }
        ASSERT_EQ(v(40 + i)[lane], expected) << "lane " << lane << " register " << i;
      }
    }
  }

  void check_store(const StoreCase& test, const std::vector<u64>& va) {
    std::vector<u8> expected(data(kData), data(kData) + kDataPages * kPageSize);
    const auto model = [&](u64 address) -> u8& { return expected[&byte(address) - data(kData)]; };
    for (u32 lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; active(lane) && i < test.bytes; ++i) {
        const u32 value = v(40 + i / 4)[lane] >> test.shift;
        model(va[lane] + i) = static_cast<u8>(value >> i % 4 * 8);
      }
    }
    wave.pc = kCode;
    ASSERT_EQ(resume(), Stop::end) << wave.fault.reason;
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), data(kData)));
  }
};
EXEC_TEST_SUITE(GlobalMemory);

TEST_P(GlobalMemory, LoadsEveryShape) {
  for (const LoadCase& test : load_cases()) {
    for (const char* family : {"global", "flat"}) {
      SCOPED_TRACE(std::string(family) + " " + test.suffix);
      const bool flat = family[0] == 'f';
      load(std::string(family) + "_load_" + test.suffix + " " + registers(40, test.registers) +
           (flat ? ", v[2:3] offset:24" : ", v[2:3], off offset:-24"));
      for (Pattern pattern : kPatterns) {
        for (u64 exec : exec_masks()) {
          wave.set_exec(exec);
          const auto va = addresses(pattern, test.bytes);
          set_addresses(va, flat ? 24 : -24);
          check_load(test, va);
        }
      }
    }
  }
}

TEST_P(GlobalMemory, StoresEveryShape) {
  for (const StoreCase& test : store_cases()) {
    for (const char* family : {"global", "flat"}) {
      SCOPED_TRACE(std::string(family) + " " + test.suffix);
      const bool flat = family[0] == 'f';
      load(std::string(family) + "_store_" + test.suffix + " v[2:3], " +
           registers(40, test.registers) + (flat ? " offset:24" : ", off offset:-24"));
      for (Pattern pattern : kPatterns) {
        for (u64 exec : exec_masks()) {
          wave.set_exec(exec);
          const auto va = addresses(pattern, test.bytes);
          set_addresses(va, flat ? 24 : -24);
          check_store(test, va);
        }
      }
    }
  }
}

TEST_P(GlobalMemory, AddsScalarBaseAndUnsignedOffset) {
  const LoadCase& dword = load_cases()[4];
  load("global_load_dword v40, v2, s[4:5] offset:16");
  const u64 base = kData - 0x90000000;
  set_s64(4, base);
  const auto va = addresses(Pattern::random_in_buffer, 4);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    v(2)[lane] = static_cast<u32>(va[lane] - 16 - base);
    ASSERT_GT(v(2)[lane], 0x80000000u) << "the offset would be negative if it were signed";
  }
  check_load(dword, va);
}

TEST_P(GlobalMemory, LoadsIntoItsOwnAddress) {
  load("global_load_dwordx4 v[2:5], v[2:3], off");
  const auto va = addresses(Pattern::random_in_buffer, 16);
  set_addresses(va, 0);
  ASSERT_EQ(resume(), Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    for (u32 i = 0; i < 4; ++i) {
      ASSERT_EQ(v(2 + i)[lane], raw(va[lane] + 4 * i, 4));
    }
  }
}

TEST_P(GlobalMemory, UsesAccumulationRegisters) {
  const auto va = addresses(Pattern::random_in_buffer, 8);
  set_addresses(va, 0);
  ASSERT_EQ(run("global_load_dwordx2 a[6:7], v[2:3], off"), Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(a(6)[lane], raw(va[lane], 4));
    EXPECT_EQ(a(7)[lane], raw(va[lane] + 4, 4));
  }
}

TEST_P(GlobalMemory, OverlappingStoresKeepTheLastLane) {
  set_addresses(std::vector<u64>(kLanes, kData + 64), 0);
  wave.set_exec(0x00ff00ff00ff00ff);
  ASSERT_EQ(run("global_store_dword v[2:3], v40, off"), Stop::end);
  EXPECT_EQ(raw(kData + 64, 4), v(40)[55]);
}

TEST_P(GlobalMemory, FaultsWhereNothingIsMapped) {
  auto va = addresses(Pattern::random_in_buffer, 4);
  va[17] = 0x123456789abc;
  set_addresses(va, 0);
  EXPECT_EQ(run("s_nop 0\nglobal_load_dword v40, v[2:3], off"), Stop::fault);
  EXPECT_EQ(wave.fault.va, 0x123456789abcu);
  EXPECT_EQ(wave.fault.pc, kCode + 4);
  EXPECT_EQ(wave.pc, kCode + 4);
  EXPECT_FALSE(wave.fault.write);
  EXPECT_FALSE(wave.fault.no_permission);
  wave.set_exec(~(u64{1} << 17));
  EXPECT_EQ(run("global_load_dword v40, v[2:3], off"), Stop::end) << "an inactive lane is no fault";
}

TEST_P(GlobalMemory, FaultsOnTheUnmappedPartOfAnAccess) {
  const u64 end = kData + kDataPages * kPageSize;
  set_addresses(std::vector<u64>(kLanes, end - 6), 0);
  EXPECT_EQ(run("flat_store_dwordx2 v[2:3], v[40:41]"), Stop::fault);
  EXPECT_EQ(wave.fault.va, end);
  EXPECT_TRUE(wave.fault.write);
}

TEST_P(GlobalMemory, FaultsOnAWriteToReadOnlyMemory) {
  memory.map(kScattered, kPageSize, host_page(0), 0);
  set_addresses(std::vector<u64>(kLanes, kScattered + 8), 0);
  EXPECT_EQ(run("global_load_dword v40, v[2:3], off"), Stop::end);
  EXPECT_EQ(run("global_store_dword v[2:3], v40, off"), Stop::fault);
  EXPECT_TRUE(wave.fault.write);
  EXPECT_TRUE(wave.fault.no_permission);
}

TEST_P(GlobalMemory, FaultsOnNonCanonicalAddresses) {
  for (u64 bad : {u64{0}, u64{1} << 47, u64{5} << 48, ~u64{0} - 3}) {
    set_addresses(std::vector<u64>(kLanes, bad), 0);
    EXPECT_EQ(run("flat_load_dword v40, v[2:3]"), Stop::fault) << std::hex << bad;
    EXPECT_EQ(wave.fault.va, bad);
  }
}

TEST_P(GlobalMemory, LoadsToLds) {
  const auto va = addresses(Pattern::random_in_buffer, 4);
  set_addresses(va, 16);
  wave.s[op_m0] = 0x100;
  wave.set_exec(0xffffffff0000ffff);
  const u32 kept = lds_at<u32>(0x100 + 16 + 20 * 4);
  ASSERT_EQ(run("global_load_dword v[2:3], off offset:16 lds"), Stop::end);
  EXPECT_EQ(lds_at<u32>(0x110 + 3 * 4), raw(va[3], 4));
  EXPECT_EQ(lds_at<u32>(0x110 + 63 * 4), raw(va[63], 4));
  EXPECT_EQ(lds_at<u32>(0x110 + 20 * 4), kept);
}

// ---- private memory ----

class PrivateMemory : public GlobalMemory {
 protected:
  // Byte `offset` of a lane's private memory, in the layout of the hardware.
  u64 place(u32 offset, u32 lane) { return kScattered + offset / 4 * 256 + lane * 4 + offset % 4; }
  u32 private_raw(u32 offset, u32 lane, int bytes) {
    u32 value = 0;
    for (int i = 0; i < bytes; ++i) {
      value |= u32{byte(place(offset + i, lane))} << 8 * i;
    }
    return value;
  }
  static constexpr u32 kSize = 80;  // bytes per lane that fit

  void SetUp() override {
    GlobalMemory::SetUp();
    set_s64(op_flat_scratch, kScattered);
  }
};
EXEC_TEST_SUITE(PrivateMemory);

TEST_P(PrivateMemory, LoadsEveryShape) {
  struct {
    const char *format, *tail;
    u64 base;
    u32 minus;
  } const forms[] = {
      {"scratch_load_", ", v2, off offset:4", 0, 4},
      {"flat_load_", ", v[2:3] offset:4", u64{2} << 48, 4},
  };
  for (const auto& form : forms) {
    for (const LoadCase& test : load_cases()) {
      SCOPED_TRACE(std::string(form.format) + test.suffix);
      load(form.format + std::string(test.suffix) + " " + registers(40, test.registers) +
           form.tail);
      for (u32 align : {4, 1}) {
        for (u64 exec : exec_masks()) {
          wave.set_exec(exec);
          std::vector<u32> offset(kLanes), before(v(40), v(40) + 4 * kLanes);
          for (u32 lane = 0; lane < kLanes; ++lane) {
            offset[lane] = 4 + random32() % (kSize - 24) / align * align;
            set_v64(2, lane, form.base + offset[lane] - form.minus);
          }
          wave.pc = kCode;
          ASSERT_EQ(resume(), Stop::end) << wave.fault.reason;
          for (u32 lane = 0; lane < kLanes; ++lane) {
            for (int i = 0; i < 4; ++i) {
              u32 expected = before[i * kLanes + lane];
              if (active(lane) && i < test.registers) {
                expected =
                    test.value(private_raw(offset[lane] + i * 4, lane, std::min(test.bytes, 4)));
              }
              ASSERT_EQ(v(40 + i)[lane], expected) << "lane " << lane << " register " << i;
            }
          }
        }
      }
    }
  }
}

TEST_P(PrivateMemory, StoredByOneViewIsReadByTheOthers) {
  // The descriptor as ROCr makes it: swizzle, no stride, 64 lanes, thread id added.
  constexpr u32 kSwizzle = 1u << 31, kAddTid = 1u << 23, kIndexStride64 = 3u << 21,
                kFormat32 = 4u << 15;
  set_s64(4, kScattered);
  wave.s[5] |= kSwizzle;
  wave.s[6] = kPages * kPageSize;
  wave.s[7] = kAddTid | kIndexStride64 | kFormat32;
  wave.s[8] = 4 * 256;  // soffset counts bytes of the whole wave: four dwords
  wave.s[9] = 20;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    v(2)[lane] = 4;
    set_v64(4, lane, (u64{2} << 48) + 20);
  }
  ASSERT_EQ(run(R"(
      buffer_store_dword v40, v2, s[4:7], s8 offen
      flat_load_dword v50, v[4:5]
      scratch_load_dword v51, off, s9
      buffer_load_dword v52, off, s[4:7], 0 offset:20
      buffer_load_ushort v53, off, s[4:7], 0 offset:22)"),
            Stop::end)
      << wave.fault.reason;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(raw(place(20, lane), 4), v(40)[lane]);
    EXPECT_EQ(v(50)[lane], v(40)[lane]);
    EXPECT_EQ(v(51)[lane], v(40)[lane]);
    EXPECT_EQ(v(52)[lane], v(40)[lane]);
    EXPECT_EQ(v(53)[lane], v(40)[lane] >> 16);
  }
}

TEST_P(PrivateMemory, StoresEveryShape) {
  for (const StoreCase& test : store_cases()) {
    SCOPED_TRACE(test.suffix);
    load(std::string("scratch_store_") + test.suffix + " v2, " + registers(40, test.registers) +
         ", off");
    for (u32 align : {4, 1}) {
      for (u64 exec : exec_masks()) {
        wave.set_exec(exec);
        std::vector<u8> expected(data(kData), data(kData) + kDataPages * kPageSize);
        for (u32 lane = 0; lane < kLanes; ++lane) {
          v(2)[lane] = random32() % (kSize - 24) / align * align;
          for (int i = 0; active(lane) && i < test.bytes; ++i) {
            const u64 at = &byte(place(v(2)[lane] + i, lane)) - data(kData);
            expected[at] = static_cast<u8>(v(40 + i / 4)[lane] >> test.shift >> i % 4 * 8);
          }
        }
        wave.pc = kCode;
        ASSERT_EQ(resume(), Stop::end);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), data(kData)));
      }
    }
  }
}

TEST_P(PrivateMemory, FlatMixesAllKindsOfMemoryInOneInstruction) {
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u64 offset = lane * 8;
    set_v64(2, lane,
            lane % 3 == 0   ? kData + offset
            : lane % 3 == 1 ? (u64{1} << 48) + offset
                            : (u64{2} << 48) + offset % 64);
  }
  ASSERT_EQ(run("flat_load_dword v40, v[2:3]"), Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u32 expected = lane % 3 == 0   ? raw(kData + lane * 8, 4)
                         : lane % 3 == 1 ? lds_at<u32>(lane * 8)
                                         : private_raw(lane * 8 % 64, lane, 4);
    EXPECT_EQ(v(40)[lane], expected) << lane;
  }
}

}  // namespace
}  // namespace vgpu::isa::test
