// SOP1, SOP2, SOPC and SOPK arithmetic against a bit-by-bit reference.
#include <functional>

#include "isa/exec_support.h"

namespace vgpu::isa::test {
namespace {

struct Result {
  u64 value;
  int scc;  // -1: unchanged
};

// a, b: sources; d: the destination before; scc: before.
using Reference = std::function<Result(u64 a, u64 b, u64 d, int scc)>;

struct Case {
  const char* name;
  const char* operands;  // after the mnemonic
  int bits;              // of the result; 0: only SCC
  Reference reference;
};

class ScalarAlu : public ExecTest {
 protected:
  // Interesting values first, then random ones.
  u64 operand(int round) {
    static constexpr u64 kEdges[] = {
        0,          1,          ~u64{0},    0x80000000, 0x7fffffff,         0xffffffff,
        0x00010001, 0x8000,     0x001f0000, 0x00200004, 0x8000000000000000, 0x7fffffffffffffff,
        0x000c0003, 0x7f00003f, 31,         32};
    return round < 16 ? kEdges[round] : round % 3 ? random64() : random64() & random64() & 63;
  }

  void check(const std::vector<Case>& cases) {
    for (const Case& test : cases) {
      SCOPED_TRACE(test.name);
      load(std::string(test.name) + " " + test.operands);
      for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 24; ++j) {
          check_once(test, operand(i), operand(j), i & 1);
        }
      }
    }
  }

  void check_once(const Case& test, u64 a, u64 b, int scc) {
    const u64 before = random64();
    set_s64(10, before);
    set_s64(12, a);
    set_s64(14, b);
    wave.scc = static_cast<u8>(scc);
    wave.pc = kCode;
    ASSERT_EQ(resume(), Stop::end);
    const Result expected = test.reference(a, b, before, scc);
    const u64 keep = test.bits == 64 ? 0 : ~u64{0} << test.bits;
    const u64 value = test.bits ? (before & keep) | (expected.value & ~keep) : before;
    EXPECT_EQ(s64(10), value) << std::hex << a << " " << b;
    EXPECT_EQ(wave.scc, expected.scc < 0 ? scc : expected.scc) << std::hex << a << " " << b;
  }
};
EXEC_TEST_SUITE(ScalarAlu);

Result nonzero32(u64 value) { return {value & 0xffffffff, (value & 0xffffffff) != 0}; }
Result nonzero64(u64 value) { return {value, value != 0}; }
i64 s32(u64 value) { return static_cast<i32>(value); }
u64 u32of(u64 value) { return value & 0xffffffff; }
bool bit(u64 value, int i) { return value >> i & 1; }

Result overflowing(i64 exact) {
  return {static_cast<u64>(exact), exact < INT32_MIN || exact > INT32_MAX};
}

u64 field(u64 value, u64 spec, int bits, bool sign) {
  const int offset = static_cast<int>(spec & (bits - 1));
  const int width = static_cast<int>(spec >> 16 & 0x7f);
  u64 result = 0;
  int taken = 0;
  for (; taken < width && offset + taken < bits; ++taken) {
    result |= u64{bit(value, offset + taken)} << taken;
  }
  if (sign && taken > 0 && bit(result, taken - 1)) {
    for (int i = taken; i < 64; ++i) {
      result |= u64{1} << i;
    }
  }
  return result;
}

int highest(u64 value, int bits, bool wanted) {
  for (int i = 0; i < bits; ++i) {
    if (bit(value, bits - 1 - i) == wanted) {
      return i;
    }
  }
  return -1;
}

int lowest(u64 value, int bits, bool wanted) {
  for (int i = 0; i < bits; ++i) {
    if (bit(value, i) == wanted) {
      return i;
    }
  }
  return -1;
}

int count(u64 value, int bits, bool wanted) {
  int n = 0;
  for (int i = 0; i < bits; ++i) {
    n += bit(value, i) == wanted;
  }
  return n;
}

constexpr const char* k32 = "s10, s12, s14";
constexpr const char* k64 = "s[10:11], s[12:13], s[14:15]";
constexpr const char* kShift64 = "s[10:11], s[12:13], s14";
constexpr const char* kOne32 = "s10, s12";
constexpr const char* kOne64 = "s[10:11], s[12:13]";

TEST_P(ScalarAlu, AddsAndSubtracts) {
  check({
      {"s_add_u32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {u32of(a) + u32of(b), (u32of(a) + u32of(b)) >> 32 != 0};
       }},
      {"s_addc_u32", k32, 32,
       [](u64 a, u64 b, u64, int c) -> Result {
         return {u32of(a) + u32of(b) + c, (u32of(a) + u32of(b) + c) >> 32 != 0};
       }},
      {"s_sub_u32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {a - b, u32of(a) < u32of(b)};
       }},
      {"s_subb_u32", k32, 32,
       [](u64 a, u64 b, u64, int c) -> Result {
         return {a - b - c, u32of(a) < u32of(b) + c};
       }},
      {"s_add_i32", k32, 32, [](u64 a, u64 b, u64, int) { return overflowing(s32(a) + s32(b)); }},
      {"s_sub_i32", k32, 32, [](u64 a, u64 b, u64, int) { return overflowing(s32(a) - s32(b)); }},
      {"s_addk_i32", "s10, -3", 32, [](u64, u64, u64 d, int) { return overflowing(s32(d) - 3); }},
      {"s_mulk_i32", "s10, -3", 32,
       [](u64, u64, u64 d, int) -> Result {
         return {d * -3, -1};
       }},
      {"s_lshl1_add_u32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {u32of(a) * 2 + u32of(b), u32of(a) * 2 + u32of(b) > 0xffffffff};
       }},
      {"s_lshl4_add_u32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {u32of(a) * 16 + u32of(b), u32of(a) * 16 + u32of(b) > 0xffffffff};
       }},
      {"s_absdiff_i32", k32, 32,
       [](u64 a, u64 b, u64, int) {
         const i64 d = static_cast<i32>(a - b);
         return nonzero32(d < 0 ? -d : d);
       }},
  });
}

TEST_P(ScalarAlu, MultipliesAndTakesExtremes) {
  check({
      {"s_mul_i32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {a * b, -1};
       }},
      {"s_mul_hi_u32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {u32of(a) * u32of(b) >> 32, -1};
       }},
      {"s_mul_hi_i32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {static_cast<u64>(s32(a) * s32(b)) >> 32, -1};
       }},
      {"s_min_i32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {s32(a) < s32(b) ? a : b, s32(a) < s32(b)};
       }},
      {"s_max_i32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {s32(a) > s32(b) ? a : b, s32(a) > s32(b)};
       }},
      {"s_min_u32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {u32of(a) < u32of(b) ? a : b, u32of(a) < u32of(b)};
       }},
      {"s_max_u32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {u32of(a) > u32of(b) ? a : b, u32of(a) > u32of(b)};
       }},
  });
}

TEST_P(ScalarAlu, CombinesBits) {
  using Bits = u64 (*)(u64, u64);
  const std::pair<std::string, Bits> operations[] = {
      {"s_and", [](u64 a, u64 b) { return a & b; }},
      {"s_or", [](u64 a, u64 b) { return a | b; }},
      {"s_xor", [](u64 a, u64 b) { return a ^ b; }},
      {"s_andn2", [](u64 a, u64 b) { return a & ~b; }},
      {"s_orn2", [](u64 a, u64 b) { return a | ~b; }},
      {"s_nand", [](u64 a, u64 b) { return ~(a & b); }},
      {"s_nor", [](u64 a, u64 b) { return ~(a | b); }},
      {"s_xnor", [](u64 a, u64 b) { return ~(a ^ b); }},
  };
  for (const auto& [name, bits] : operations) {
    const std::string narrow = name + "_b32", wide = name + "_b64";
    check({{narrow.c_str(), k32, 32, [&](u64 a, u64 b, u64, int) { return nonzero32(bits(a, b)); }},
           {wide.c_str(), k64, 64, [&](u64 a, u64 b, u64, int) { return nonzero64(bits(a, b)); }}});
  }
}

TEST_P(ScalarAlu, SelectsAndMoves) {
  check({
      {"s_cselect_b32", k32, 32,
       [](u64 a, u64 b, u64, int c) -> Result {
         return {c ? a : b, -1};
       }},
      {"s_cselect_b64", k64, 64,
       [](u64 a, u64 b, u64, int c) -> Result {
         return {c ? a : b, -1};
       }},
      {"s_mov_b32", kOne32, 32,
       [](u64 a, u64, u64, int) -> Result {
         return {a, -1};
       }},
      {"s_mov_b64", kOne64, 64,
       [](u64 a, u64, u64, int) -> Result {
         return {a, -1};
       }},
      {"s_cmov_b32", kOne32, 32,
       [](u64 a, u64, u64 d, int c) -> Result {
         return {c ? a : d, -1};
       }},
      {"s_cmov_b64", kOne64, 64,
       [](u64 a, u64, u64 d, int c) -> Result {
         return {c ? a : d, -1};
       }},
      {"s_movk_i32", "s10, -5", 32,
       [](u64, u64, u64, int) -> Result {
         return {static_cast<u64>(-5), -1};
       }},
      {"s_cmovk_i32", "s10, 0x1234", 32,
       [](u64, u64, u64 d, int c) -> Result {
         return {c ? 0x1234 : d, -1};
       }},
      {"s_pack_ll_b32_b16", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {(a & 0xffff) + (b << 16), -1};
       }},
      {"s_pack_lh_b32_b16", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {(a & 0xffff) + (b >> 16 << 16), -1};
       }},
      {"s_pack_hh_b32_b16", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {(u32of(a) >> 16) + (b >> 16 << 16), -1};
       }},
  });
}

TEST_P(ScalarAlu, ShiftsAndExtractsFields) {
  check({
      {"s_lshl_b32", k32, 32, [](u64 a, u64 b, u64, int) { return nonzero32(a << b % 32); }},
      {"s_lshr_b32", k32, 32, [](u64 a, u64 b, u64, int) { return nonzero32(u32of(a) >> b % 32); }},
      {"s_ashr_i32", k32, 32, [](u64 a, u64 b, u64, int) { return nonzero32(s32(a) >> b % 32); }},
      {"s_lshl_b64", kShift64, 64, [](u64 a, u64 b, u64, int) { return nonzero64(a << b % 64); }},
      {"s_lshr_b64", kShift64, 64, [](u64 a, u64 b, u64, int) { return nonzero64(a >> b % 64); }},
      {"s_ashr_i64", kShift64, 64,
       [](u64 a, u64 b, u64, int) { return nonzero64(static_cast<i64>(a) >> b % 64); }},
      {"s_bfm_b32", k32, 32,
       [](u64 a, u64 b, u64, int) -> Result {
         return {((u64{1} << a % 32) - 1) << b % 32, -1};
       }},
      {"s_bfm_b64", "s[10:11], s12, s14", 64,
       [](u64 a, u64 b, u64, int) -> Result {
         return {((u64{1} << a % 64) - 1) << b % 64, -1};
       }},
      {"s_bfe_u32", k32, 32,
       [](u64 a, u64 b, u64, int) { return nonzero32(field(a, b, 32, false)); }},
      {"s_bfe_i32", k32, 32,
       [](u64 a, u64 b, u64, int) { return nonzero32(field(a, b, 32, true)); }},
      {"s_bfe_u64", kShift64, 64,
       [](u64 a, u64 b, u64, int) { return nonzero64(field(a, b, 64, false)); }},
      {"s_bfe_i64", kShift64, 64,
       [](u64 a, u64 b, u64, int) { return nonzero64(field(a, b, 64, true)); }},
      {"s_bitset0_b32", kOne32, 32,
       [](u64 a, u64, u64 d, int) -> Result {
         return {d & ~(u64{1} << a % 32), -1};
       }},
      {"s_bitset1_b32", kOne32, 32,
       [](u64 a, u64, u64 d, int) -> Result {
         return {d | u64{1} << a % 32, -1};
       }},
      {"s_bitset0_b64", "s[10:11], s12", 64,
       [](u64 a, u64, u64 d, int) -> Result {
         return {d & ~(u64{1} << a % 64), -1};
       }},
      {"s_bitset1_b64", "s[10:11], s12", 64,
       [](u64 a, u64, u64 d, int) -> Result {
         return {d | u64{1} << a % 64, -1};
       }},
  });
}

TEST_P(ScalarAlu, CountsAndFindsBits) {
  constexpr const char* kWide = "s10, s[12:13]";
  const auto found = [](int position) -> Result { return {static_cast<u64>(position), -1}; };
  const auto first_other = [](u64 a, int bits) { return highest(a, bits, !bit(a, bits - 1)); };
  check({
      {"s_not_b32", kOne32, 32, [](u64 a, u64, u64, int) { return nonzero32(~a); }},
      {"s_not_b64", kOne64, 64, [](u64 a, u64, u64, int) { return nonzero64(~a); }},
      {"s_bcnt0_i32_b32", kOne32, 32,
       [](u64 a, u64, u64, int) { return nonzero32(count(a, 32, 0)); }},
      {"s_bcnt0_i32_b64", kWide, 32,
       [](u64 a, u64, u64, int) { return nonzero32(count(a, 64, 0)); }},
      {"s_bcnt1_i32_b32", kOne32, 32,
       [](u64 a, u64, u64, int) { return nonzero32(count(a, 32, 1)); }},
      {"s_bcnt1_i32_b64", kWide, 32,
       [](u64 a, u64, u64, int) { return nonzero32(count(a, 64, 1)); }},
      {"s_ff0_i32_b32", kOne32, 32, [=](u64 a, u64, u64, int) { return found(lowest(a, 32, 0)); }},
      {"s_ff0_i32_b64", kWide, 32, [=](u64 a, u64, u64, int) { return found(lowest(a, 64, 0)); }},
      {"s_ff1_i32_b32", kOne32, 32, [=](u64 a, u64, u64, int) { return found(lowest(a, 32, 1)); }},
      {"s_ff1_i32_b64", kWide, 32, [=](u64 a, u64, u64, int) { return found(lowest(a, 64, 1)); }},
      {"s_flbit_i32_b32", kOne32, 32,
       [=](u64 a, u64, u64, int) { return found(highest(a, 32, 1)); }},
      {"s_flbit_i32_b64", kWide, 32,
       [=](u64 a, u64, u64, int) { return found(highest(a, 64, 1)); }},
      {"s_flbit_i32", kOne32, 32, [=](u64 a, u64, u64, int) { return found(first_other(a, 32)); }},
      {"s_flbit_i32_i64", kWide, 32,
       [=](u64 a, u64, u64, int) { return found(first_other(a, 64)); }},
      {"s_sext_i32_i8", kOne32, 32,
       [](u64 a, u64, u64, int) -> Result {
         return {static_cast<u64>(static_cast<i8>(a)), -1};
       }},
      {"s_sext_i32_i16", kOne32, 32,
       [](u64 a, u64, u64, int) -> Result {
         return {static_cast<u64>(static_cast<i16>(a)), -1};
       }},
      {"s_abs_i32", kOne32, 32, [](u64 a, u64, u64, int) { return nonzero32(std::abs(s32(a))); }},
  });
}

TEST_P(ScalarAlu, RearrangesBits) {
  const auto reversed = [](u64 a, int bits) {
    u64 result = 0;
    for (int i = 0; i < bits; ++i) {
      result |= u64{bit(a, i)} << (bits - 1 - i);
    }
    return Result{result, -1};
  };
  const auto quads = [](u64 a, int bits, bool spread) {
    u64 result = 0;
    for (int i = 0; i < bits; i += 4) {
      const u64 any = bit(a, i) || bit(a, i + 1) || bit(a, i + 2) || bit(a, i + 3);
      result |= spread ? any * 15 << i : any << i / 4;
    }
    return Result{result, result != 0};
  };
  const auto doubled = [](u64 a) {
    u64 result = 0;
    for (int i = 0; i < 64; ++i) {
      result |= u64{bit(a, i / 2)} << i;
    }
    return Result{result, -1};
  };
  check({
      {"s_brev_b32", kOne32, 32, [=](u64 a, u64, u64, int) { return reversed(a, 32); }},
      {"s_brev_b64", kOne64, 64, [=](u64 a, u64, u64, int) { return reversed(a, 64); }},
      {"s_wqm_b32", kOne32, 32, [=](u64 a, u64, u64, int) { return quads(a, 32, true); }},
      {"s_wqm_b64", kOne64, 64, [=](u64 a, u64, u64, int) { return quads(a, 64, true); }},
      {"s_quadmask_b32", kOne32, 32, [=](u64 a, u64, u64, int) { return quads(a, 32, false); }},
      {"s_quadmask_b64", kOne64, 64, [=](u64 a, u64, u64, int) { return quads(a, 64, false); }},
      {"s_bitreplicate_b64_b32", "s[10:11], s12", 64,
       [=](u64 a, u64, u64, int) { return doubled(a); }},
  });
}

TEST_P(ScalarAlu, Compares) {
  using Holds = bool (*)(i64, i64);
  const std::pair<std::string, Holds> relations[] = {
      {"eq", [](i64 a, i64 b) { return a == b; }}, {"lg", [](i64 a, i64 b) { return a != b; }},
      {"gt", [](i64 a, i64 b) { return a > b; }},  {"ge", [](i64 a, i64 b) { return a >= b; }},
      {"lt", [](i64 a, i64 b) { return a < b; }},  {"le", [](i64 a, i64 b) { return a <= b; }},
  };
  for (const auto& [name, holds] : relations) {
    const std::string is = "s_cmp_" + name + "_i32", us = "s_cmp_" + name + "_u32";
    const std::string ik = "s_cmpk_" + name + "_i32", uk = "s_cmpk_" + name + "_u32";
    check({{is.c_str(), "s12, s14", 0,
            [&](u64 a, u64 b, u64, int) -> Result {
              return {0, holds(s32(a), s32(b))};
            }},
           {us.c_str(), "s12, s14", 0,
            [&](u64 a, u64 b, u64, int) -> Result {
              return {0, holds(static_cast<i64>(u32of(a)), static_cast<i64>(u32of(b)))};
            }},
           {ik.c_str(), "s12, 0xffff", 0,
            [&](u64 a, u64, u64, int) -> Result {
              return {0, holds(s32(a), -1)};
            }},
           {uk.c_str(), "s12, 0xffff", 0, [&](u64 a, u64, u64, int) -> Result {
              return {0, holds(static_cast<i64>(u32of(a)), 0xffff)};
            }}});
  }
  check({{"s_cmp_eq_u64", "s[12:13], s[14:15]", 0,
          [](u64 a, u64 b, u64, int) -> Result {
            return {0, a == b};
          }},
         {"s_cmp_lg_u64", "s[12:13], s[14:15]", 0,
          [](u64 a, u64 b, u64, int) -> Result {
            return {0, a != b};
          }},
         {"s_bitcmp0_b32", "s12, s14", 0,
          [](u64 a, u64 b, u64, int) -> Result {
            return {0, !bit(a, b % 32)};
          }},
         {"s_bitcmp1_b32", "s12, s14", 0,
          [](u64 a, u64 b, u64, int) -> Result {
            return {0, bit(a, b % 32)};
          }},
         {"s_bitcmp0_b64", "s[12:13], s14", 0,
          [](u64 a, u64 b, u64, int) -> Result {
            return {0, !bit(a, b % 64)};
          }},
         {"s_bitcmp1_b64", "s[12:13], s14", 0, [](u64 a, u64 b, u64, int) -> Result {
            return {0, bit(a, b % 64)};
          }}});
}

TEST_P(ScalarAlu, ReadsConstantsByWidth) {
  ASSERT_EQ(run(R"(
      s_mov_b32 s0, 64
      s_mov_b32 s1, -16
      s_mov_b32 s2, 1.0
      s_mov_b32 s3, 0xdeadbeef
      s_mov_b64 s[4:5], -16
      s_mov_b64 s[6:7], 1.0
      s_mov_b64 s[8:9], 0x89abcdef
      s_ashr_i64 s[10:11], 0x89abcdef, 0
      s_mov_b32 s12, 0.15915494)"),
            Stop::end);
  EXPECT_EQ(wave.s[0], 64u);
  EXPECT_EQ(wave.s[1], static_cast<u32>(-16));
  EXPECT_EQ(wave.s[2], 0x3f800000u);
  EXPECT_EQ(wave.s[3], 0xdeadbeefu);
  EXPECT_EQ(s64(4), static_cast<u64>(-16));
  EXPECT_EQ(s64(6), 0x3ff0000000000000u);
  EXPECT_EQ(s64(8), 0x89abcdefu) << "a literal is extended by zeros";
  EXPECT_EQ(s64(10), 0xffffffff89abcdefu) << "but by its sign where the operand is signed";
  EXPECT_EQ(wave.s[12], 0x3e22f983u);
}

TEST_P(ScalarAlu, ReadsStatusAndApertures) {
  wave.set_vcc(0);
  wave.scc = 1;
  ASSERT_EQ(run(R"(
      s_mov_b32 s0, src_vccz
      s_mov_b32 s1, src_execz
      s_mov_b32 s2, src_scc
      s_mov_b64 s[4:5], src_shared_base
      s_mov_b64 s[6:7], src_private_base)"),
            Stop::end);
  EXPECT_EQ(wave.s[0], 1u);
  EXPECT_EQ(wave.s[1], 0u);
  EXPECT_EQ(wave.s[2], 1u);
  EXPECT_EQ(s64(4), u64{1} << 48);
  EXPECT_EQ(s64(6), u64{2} << 48);
}

}  // namespace
}  // namespace vgpu::isa::test
