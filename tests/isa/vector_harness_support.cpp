// Running single instructions and comparing what came out.
#include "isa/vector_harness_support.h"

#include <immintrin.h>

#include <algorithm>

namespace vgpu::isa::test {

bool is_vector_alu(const OpInfo& op) {
  switch (op.format) {
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3:
    case Format::vop3p: return true;
    default: return false;
  }
}

Registers run_instruction(const Engine& engine, Inst inst, const Registers& before, u32 mode) {
  auto after = std::make_unique<Registers>(before);
  const auto wave = std::make_unique<Wave>();
  wave->v = after->v.data();
  wave->acc = after->acc.data();
  wave->nv = wave->nacc = kTestVgprs;
  wave->mode = mode;
  std::copy(before.s.begin(), before.s.end(), wave->s);
  inst.exec = engine.handler(inst);
  EXPECT_NE(inst.exec, nullptr) << inst.op->name;
  if (!inst.exec) {
    return *after;
  }
  const u32 host = _mm_getcsr();
  static constexpr u32 kRound[] = {0, 0x4000, 0x2000, 0x6000};
  const u32 wanted =
      0x1f80 | kRound[mode & 3] | (mode & 0x10 ? 0 : 0x40) | (mode & 0x20 ? 0 : 0x8000);
  _mm_setcsr(wanted);
  inst.exec(*wave, inst);
  const u32 left = _mm_getcsr() & ~0x3fu;
  _mm_setcsr(host);
  EXPECT_EQ(left, wanted) << inst.op->name << " leaves another floating-point mode";
  std::copy(wave->s, wave->s + 128, after->s.begin());
  return *after;
}

namespace {

bool close16(u32 a, u32 b, u32 ulps) {
  if (is_nan16(a) && is_nan16(b))
    return true;
  const auto key = [](u32 v) {
    return v & 0x8000 ? -static_cast<i32>(v & 0x7fff) : static_cast<i32>(v);
  };
  return a == b || (ulps && std::abs(key(a & 0xffff) - key(b & 0xffff)) <= static_cast<i32>(ulps));
}
bool close32(u32 a, u32 b, u32 ulps) {
  if (is_nan32(a) && is_nan32(b))
    return true;
  const auto key = [](u32 v) {
    return v >> 31 ? -static_cast<i64>(v & 0x7fffffff) : static_cast<i64>(v);
  };
  return a == b || (ulps && std::abs(key(a) - key(b)) <= static_cast<i64>(ulps));
}
bool close64(u64 a, u64 b, u32 ulps) {
  if (is_nan64(a) && is_nan64(b))
    return true;
  return a == b || (ulps && a >> 63 == b >> 63 && (a > b ? a - b : b - a) <= ulps);
}

// Where denormals are flushed and the exact result lies just below the smallest normal number, it
// depends on whether smallness is judged before or after rounding which of the two comes out. The
// manual does not say; both are right.
bool flushed_at_the_edge(Type type, u64 expected, u64 actual) {
  const u64 smallest = type == Type::f64 ? 0x0010000000000000 : 0x00800000;
  const u64 sign = type == Type::f64 ? u64{1} << 63 : 0x80000000;
  return (expected & ~sign) == smallest && actual == (expected & sign);
}

// Whether two results agree in the destination register of a lane.
bool agree(const Inst& inst, Registers& expected, Registers& actual, int lane, u32 ulps,
           bool flushes) {
  const u32 a = expected.lane(inst.dst, lane), b = actual.lane(inst.dst, lane);
  switch (inst.op->dst) {
    case Type::f32:
      if (inst.flags & inst_sdwa)
        return a == b;
      return close32(a, b, ulps) || (flushes && flushed_at_the_edge(Type::f32, a, b));
    case Type::f64: {
      const u16 high = static_cast<u16>(inst.dst + 1);
      const u64 wide_a = a | u64{expected.lane(high, lane)} << 32;
      const u64 wide_b = b | u64{actual.lane(high, lane)} << 32;
      return close64(wide_a, wide_b, ulps) ||
             (flushes && flushed_at_the_edge(Type::f64, wide_a, wide_b));
    }
    case Type::f16:
      if (inst.opsel & 8)
        return (a & 0xffff) == (b & 0xffff) && close16(a >> 16, b >> 16, ulps);
      return inst.flags & inst_sdwa ? a == b
                                    : a >> 16 == b >> 16 && close16(a & 0xffff, b & 0xffff, ulps);
    case Type::f32x2: {
      const u16 high = static_cast<u16>(inst.dst + 1);
      return close32(a, b, ulps) &&
             close32(expected.lane(high, lane), actual.lane(high, lane), ulps);
    }
    case Type::f16x2:
      return close16(a & 0xffff, b & 0xffff, ulps) && close16(a >> 16, b >> 16, ulps);
    case Type::b32:  // v_cvt_pkrtz, v_pack
      return a == b || (close16(a & 0xffff, b & 0xffff, 0) && close16(a >> 16, b >> 16, 0) &&
                        (inst.op->op == Op::v_cvt_pkrtz_f16_f32));
    default: return a == b;
  }
}

// A NaN or an approximate result is cut to pieces by SDWA: nothing to compare by.
bool comparable(const Inst& inst, u32 ulps, bool nan) {
  return !(inst.flags & inst_sdwa) || (ulps == 0 && !nan);
}

}  // namespace

testing::AssertionResult same_registers(const Inst& inst, const Expectation& expectation,
                                        const Registers& actual_in) {
  auto expected = std::make_unique<Registers>(expectation.registers);
  auto actual = std::make_unique<Registers>(actual_in);
  if (inst.dst >= op_vgpr0 && inst.dst != op_none) {
    // Hardware's reciprocals in double precision are only first guesses.
    const u32 ulps = !is_approximate(inst.op->op) ? 0 : inst.op->dst == Type::f64 ? 2 : 1;
    for (int lane = 0; lane < kLanes; ++lane) {
      const u32 a = expected->lane(inst.dst, lane), b = actual->lane(inst.dst, lane);
      if (comparable(inst, ulps, expectation.nan_lanes >> lane & 1) &&
          !agree(inst, *expected, *actual, lane, ulps, expectation.flushes)) {
        return testing::AssertionFailure() << std::hex << "lane " << std::dec << lane << std::hex
                                           << ": expected " << a << " got " << b;
      }
      for (int word = 0; word < std::max(dwords(inst.op->dst), 1); ++word) {
        const u16 code = static_cast<u16>(inst.dst + word);
        actual->lane(code, lane) = expected->lane(code, lane);
      }
    }
  }
  for (int code = 0; code < 128; ++code) {
    if (expected->s[code] != actual->s[code]) {
      return testing::AssertionFailure() << "scalar register " << code << std::hex << ": expected "
                                         << expected->s[code] << " got " << actual->s[code];
    }
  }
  if (expected->v != actual->v || expected->acc != actual->acc) {
    return testing::AssertionFailure() << "a register besides the destination changed";
  }
  return testing::AssertionSuccess();
}

std::string describe(const Inst& inst, const Registers& before_in, u32 mode, int lane) {
  auto before = std::make_unique<Registers>(before_in);
  char text[512];
  int used =
      std::snprintf(text, sizeof text,
                    "%s format %d dst %u src %u %u %u flags %x ext %08x neg %x abs %x omod %u "
                    "opsel %x/%x neg_hi %x imm %08x mode %03x exec %016llx lane %d:",
                    inst.op->name, static_cast<int>(inst.op->format), inst.dst, inst.src[0],
                    inst.src[1], inst.src[2], inst.flags, inst.ext, inst.neg, inst.abs, inst.omod,
                    inst.opsel, inst.opsel_hi, inst.neg_hi, static_cast<u32>(inst.imm), mode,
                    static_cast<unsigned long long>(before->exec()), lane);
  for (int i = 0; i < 3 && lane >= 0; ++i) {
    if (inst.src[i] >= op_vgpr0 && inst.src[i] != op_none) {
      used += std::snprintf(text + used, sizeof text - used, " %08x'%08x",
                            before->lane(static_cast<u16>(inst.src[i] + 1), lane),
                            before->lane(inst.src[i], lane));
    } else if (inst.src[i] < 127) {
      used += std::snprintf(text + used, sizeof text - used, " s:%08x'%08x",
                            before->s[inst.src[i] + 1], before->s[inst.src[i]]);
    }
  }
  return text;
}

}  // namespace vgpu::isa::test
