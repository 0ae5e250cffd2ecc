// DS: reads, writes, permutes, counters and global wave sync.
#include <algorithm>

#include "isa/exec_memory_support.h"

namespace vgpu::isa::test {
namespace {

class Lds : public MemoryTest {
 protected:
  u32 raw_lds(u32 address, int bytes) {
    u32 value = 0;
    for (int i = 0; i < bytes; ++i) {
      value |= u32{wave.lds[address + i]} << 8 * i;
    }
    return value;
  }
  bool in_range(u64 address, int bytes) const { return address + bytes <= wave.lds_size; }

  enum class Layout { side_by_side, rows, same, apart, beyond };
  static constexpr Layout kLayouts[] = {Layout::side_by_side, Layout::rows, Layout::same,
                                        Layout::apart, Layout::beyond};

  // Addresses in v2; `span` is what the instruction may reach beyond the address.
  void set_addresses(Layout layout, u32 bytes, u32 span) {
    const u32 room = wave.lds_size - span;
    const u32 start = random32() % 1024;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      switch (layout) {
        case Layout::side_by_side: v(2)[lane] = start + lane * bytes; break;
        case Layout::rows: v(2)[lane] = start + lane % 16 * bytes + lane / 16 * 2048; break;
        case Layout::same: v(2)[lane] = start; break;
        case Layout::apart: v(2)[lane] = lane * (room / kLanes) + random32() % 64; break;
        case Layout::beyond:
          v(2)[lane] = lane % 3 ? wave.lds_size - 8 + random32() % 16 : random32();
          break;
      }
    }
  }
};
EXEC_TEST_SUITE(Lds);

const std::vector<LoadCase>& read_cases() {
  static const std::vector<LoadCase> cases = [] {
    constexpr std::pair<const char*, const char*> kNames[] = {
        {"ubyte", "u8"},          {"sbyte", "i8"},
        {"ushort", "u16"},        {"sshort", "i16"},
        {"dword", "b32"},         {"dwordx2", "b64"},
        {"dwordx3", "b96"},       {"dwordx4", "b128"},
        {"ubyte_d16", "u8_d16"},  {"ubyte_d16_hi", "u8_d16_hi"},
        {"sbyte_d16", "i8_d16"},  {"sbyte_d16_hi", "i8_d16_hi"},
        {"short_d16", "u16_d16"}, {"short_d16_hi", "u16_d16_hi"}};
    std::vector<LoadCase> renamed = load_cases();
    for (size_t i = 0; i < renamed.size(); ++i) {
      EXPECT_STREQ(renamed[i].suffix, kNames[i].first);
      renamed[i].suffix = kNames[i].second;
    }
    return renamed;
  }();
  return cases;
}

TEST_P(Lds, ReadsEveryShapeAndZeroBeyondTheEnd) {
  wave.lds_size = 40 << 10;
  for (const LoadCase& test : read_cases()) {
    SCOPED_TRACE(test.suffix);
    load(std::string("ds_read_") + test.suffix + " " + registers(40, test.registers) +
         ", v2 offset:20");
    for (Layout layout : kLayouts) {
      for (u64 exec : exec_masks()) {
        wave.set_exec(exec);
        set_addresses(layout, test.bytes, 100);
        std::generate(v(40), v(40) + 4 * kLanes, [&] { return random32(); });
        const std::vector<u32> before(v(40), v(40) + 4 * kLanes);
        wave.pc = kCode;
        ASSERT_EQ(resume(), Stop::end);
        for (u32 lane = 0; lane < kLanes; ++lane) {
          const u32 address = v(2)[lane] + 20;
          const bool valid = in_range(address, test.bytes);
          for (int i = 0; i < 4; ++i) {
            u32 expected = before[i * kLanes + lane];
            if (active(lane) && i < test.registers) {
              expected = test.value(valid ? raw_lds(address + i * 4, std::min(test.bytes, 4)) : 0);
            }
            ASSERT_EQ(v(40 + i)[lane], expected) << "lane " << lane << " register " << i;
          }
        }
      }
    }
  }
}

TEST_P(Lds, WritesEveryShapeAndDropsWhatIsBeyondTheEnd) {
  wave.lds_size = 40 << 10;
  const std::tuple<const char*, int, int, int> cases[] = {
      {"b8", 1, 1, 0},  {"b8_d16_hi", 1, 1, 16}, {"b16", 2, 1, 0},  {"b16_d16_hi", 2, 1, 16},
      {"b32", 4, 1, 0}, {"b64", 8, 2, 0},        {"b96", 12, 3, 0}, {"b128", 16, 4, 0}};
  for (const auto& [suffix, bytes, count, shift] : cases) {
    SCOPED_TRACE(suffix);
    load(std::string("ds_write_") + suffix + " v2, " + registers(40, count) + " offset:20");
    for (Layout layout : kLayouts) {
      for (u64 exec : exec_masks()) {
        wave.set_exec(exec);
        set_addresses(layout, bytes, 100);
        std::vector<u8> expected(wave.lds, wave.lds + kLdsSize);
        for (u32 lane = 0; lane < kLanes; ++lane) {
          const u32 address = v(2)[lane] + 20;
          for (int i = 0; active(lane) && in_range(address, bytes) && i < bytes; ++i) {
            expected[address + i] = static_cast<u8>(v(40 + i / 4)[lane] >> shift >> i % 4 * 8);
          }
        }
        wave.pc = kCode;
        ASSERT_EQ(resume(), Stop::end);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), wave.lds));
      }
    }
  }
}

TEST_P(Lds, ReadsAndWritesPairs) {
  struct {
    const char* suffix;
    u32 bytes, unit;
  } const cases[] = {
      {"2_b32", 4, 4}, {"2st64_b32", 4, 256}, {"2_b64", 8, 8}, {"2st64_b64", 8, 512}};
  for (const auto& test : cases) {
    SCOPED_TRACE(test.suffix);
    const int words = static_cast<int>(test.bytes / 4);
    for (Layout layout : {Layout::side_by_side, Layout::rows, Layout::same, Layout::apart}) {
      for (u64 exec : exec_masks()) {
        wave.set_exec(exec);
        set_addresses(layout, test.bytes, 12 * test.unit);
        const std::vector<u32> address(v(2), v(2) + kLanes);
        // The first result overwrites the address.
        ASSERT_EQ(run(std::string("ds_read") + test.suffix + " " + registers(2, 2 * words) +
                      ", v2 offset0:3 offset1:7"),
                  Stop::end);
        for (u32 lane = 0; lane < kLanes; ++lane) {
          for (int i = 0; active(lane) && i < words; ++i) {
            EXPECT_EQ(v(2 + i)[lane], raw_lds(address[lane] + 3 * test.unit + i * 4, 4));
            EXPECT_EQ(v(2 + words + i)[lane], raw_lds(address[lane] + 7 * test.unit + i * 4, 4));
          }
        }
      }
    }
    set_addresses(Layout::side_by_side, test.bytes, 12 * test.unit);
    wave.set_exec(~u64{0});
    ASSERT_EQ(run(std::string("ds_write") + test.suffix + " v2, " + registers(40, words) + ", " +
                  registers(50, words) + " offset0:1 offset1:200"),
              Stop::end);
    for (u32 lane = 40; lane < kLanes; ++lane) {
      for (int i = 0; i < words; ++i) {
        if (200 * test.unit + v(2)[lane] + 8 <= wave.lds_size) {
          EXPECT_EQ(raw_lds(v(2)[lane] + 200 * test.unit + i * 4, 4), v(50 + i)[lane]);
        }
      }
    }
  }
}

TEST_P(Lds, AddressesByLaneWithoutARegister) {
  wave.s[op_m0] = 0xabcd0040;
  ASSERT_EQ(run("ds_read_addtid_b32 v40 offset:8\nds_write_addtid_b32 v41 offset:1024"), Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(v(40)[lane], raw_lds(0x48 + lane * 4, 4));
    EXPECT_EQ(raw_lds(0x440 + lane * 4, 4), v(41)[lane]);
  }
}

TEST_P(Lds, PermutesForwardAndBackward) {
  for (u64 exec : exec_masks()) {
    wave.set_exec(exec);
    const std::vector<u32> before40(v(40), v(40) + kLanes), before41(v(41), v(41) + kLanes);
    ASSERT_EQ(run("ds_permute_b32 v40, v2, v3 offset:8\nds_bpermute_b32 v41, v2, v3 offset:8"),
              Stop::end);
    std::vector<u32> sent(kLanes, 0);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      if (active(lane)) {
        sent[(v(2)[lane] + 8) / 4 % 64] = v(3)[lane];
      }
    }
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 from = (v(2)[lane] + 8) / 4 % 64;
      EXPECT_EQ(v(40)[lane], active(lane) ? sent[lane] : before40[lane]);
      EXPECT_EQ(v(41)[lane], active(lane) ? active(from) ? v(3)[from] : 0 : before41[lane]);
    }
  }
}

TEST_P(Lds, Swizzles) {
  using From = u32 (*)(u32 lane);
  const std::pair<const char*, From> cases[] = {
      {"swizzle(QUAD_PERM, 3, 1, 0, 2)",
       [](u32 lane) {
         return lane / 4 * 4 + (u32[]){3, 1, 0, 2}[lane % 4];
       }},
      {"swizzle(SWAP, 8)", [](u32 lane) { return lane ^ 8; }},
      {"swizzle(REVERSE, 16)", [](u32 lane) { return lane ^ 15; }},
      {"swizzle(BROADCAST, 8, 5)", [](u32 lane) { return lane / 8 * 8 + 5; }},
      {"0xc0a0", [](u32 lane) { return lane / 32 * 32 + (lane + 5) % 32; }},   // rotate by 5
      {"0xc4a0", [](u32 lane) { return lane / 32 * 32 + (lane + 27) % 32; }},  // back by 5
      {"0xe01f", [](u32 lane) { return lane; }},                               // FFT: all bits kept
  };
  for (const auto& [pattern, from] : cases) {
    SCOPED_TRACE(pattern);
    load(std::string("ds_swizzle_b32 v40, v2 offset:") + pattern);
    for (u64 exec : exec_masks()) {
      wave.set_exec(exec);
      const std::vector<u32> before(v(40), v(40) + kLanes);
      wave.pc = kCode;
      ASSERT_EQ(resume(), Stop::end);
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 value = active(from(lane)) ? v(2)[from(lane)] : 0;
        EXPECT_EQ(v(40)[lane], active(lane) ? value : before[lane]) << lane;
      }
    }
  }
}

TEST_P(Lds, CountsActiveLanes) {
  wave.s[op_m0] = 0x100;
  wave.set_exec(0xff00ff00ff00ff01);
  const u32 counter = raw_lds(0x104, 4);
  ASSERT_EQ(run("ds_append v40 offset:4"), Stop::end);
  EXPECT_EQ(v(40)[0], counter);
  EXPECT_EQ(v(40)[63], counter);
  EXPECT_EQ(raw_lds(0x104, 4), counter + 33);
  ASSERT_EQ(run("ds_consume v41 offset:4"), Stop::end);
  EXPECT_EQ(v(41)[8], counter + 33);
  EXPECT_EQ(raw_lds(0x104, 4), counter);
}

TEST_P(Lds, WaitsForGlobalWaveSync) {
  wave.s[op_m0] = 2 << 16;
  wave.set_exec(0x10);
  v(2)[4] = 6;
  ASSERT_EQ(run("ds_gws_init v2 offset:1 gds\ns_waitcnt 0\nds_gws_barrier v2 offset:1 gds"),
            Stop::gws_wait);
  EXPECT_EQ(machine.inits, (std::vector<std::pair<u32, u32>>{{3, 7}}));
  EXPECT_EQ(wave.pc, kCode + 12) << "at the barrier";
  EXPECT_EQ(resume(), Stop::gws_wait);
  machine.gws_open = true;
  EXPECT_EQ(resume(), Stop::end);
  EXPECT_EQ(machine.barriers, (std::vector<u32>{3, 3, 3}));
}

TEST_P(Lds, RefusesGlobalDataShare) {
  EXPECT_EQ(run("ds_read_b32 v40, v2 gds"), Stop::illegal);
  EXPECT_STREQ(wave.fault.reason, "ds_read_b32");
}

}  // namespace
}  // namespace vgpu::isa::test
