#include "isa/vector_reference_support.h"

#include <cfenv>

namespace vgpu::isa::test {

void set_host_rounding(int round) {
  static constexpr int kHost[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::fesetround(kHost[round]);
}

float LaneInputs::f(int i) const {
  const u32 bits = static_cast<u32>(source[i]);
  return as_float(rules.in32 ? bits : flush32(bits));
}

double LaneInputs::d(int i) const { return as_double(rules.in64 ? source[i] : flush64(source[i])); }

double LaneInputs::h(int i) const { return half_value(rules.in64 ? hu(i) : flush16(hu(i))); }

double half_value(u16 bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 0x3ff;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) {
    return mantissa ? std::nan("") : sign * HUGE_VAL;
  }
  return exponent == 0 ? sign * std::ldexp(mantissa, -24)
                       : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

u16 round_to_half(long double exact, int round, bool keep_denormals) {
  if (std::isnan(exact)) {
    return 0x7e00;
  }
  const u16 sign = std::signbit(exact) ? 0x8000 : 0;
  const long double magnitude = std::fabs(exact);
  // The spacing of halves around the value; denormals share that of the smallest normal ones.
  int exponent = -14;
  if (magnitude >= std::ldexp(1.0L, -14) && !std::isinf(exact)) {
    exponent = std::ilogb(magnitude);
  }
  if (std::isinf(exact)) {
    return sign | 0x7c00;
  }
  const long double units = std::ldexp(magnitude, 10 - exponent);
  const long double below = std::floor(units);
  const long double rest = units - below;
  const bool odd = std::fmod(below, 2.0L) != 0;
  const bool negative = sign != 0;
  bool up = false;
  switch (round) {
    case 0: up = rest > 0.5L || (rest == 0.5L && odd); break;
    case 1: up = rest > 0 && !negative; break;
    case 2: up = rest > 0 && negative; break;
    default: break;
  }
  const long double result = std::ldexp(below + (up ? 1 : 0), exponent - 10);
  if (result >= 65536.0L) {
    const bool to_infinity = round == 0 || (round == 1 && !negative) || (round == 2 && negative);
    return sign | (to_infinity ? 0x7c00 : 0x7bff);
  }
  if (result < std::ldexp(1.0L, -14)) {
    const u16 denormal = static_cast<u16>(std::ldexp(result, 24));
    return keep_denormals ? sign | denormal : sign;
  }
  const int e = std::ilogb(result);
  const auto mantissa = static_cast<u16>(std::ldexp(result, 10 - e));
  return static_cast<u16>(sign | (e + 15) << 10 | (mantissa & 0x3ff));
}

}  // namespace vgpu::isa::test
