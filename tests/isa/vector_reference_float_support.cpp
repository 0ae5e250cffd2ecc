// References of floating-point operations.
#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>

#include "isa/vector_reference_support.h"

namespace vgpu::isa::test {
namespace {

// volatile keeps the compiler from evaluating in another rounding mode.
LaneResult single(const LaneInputs& in, float value) {
  const u32 bits = bits_of(value);
  return {.value = in.rules.out32 ? bits : flush32(bits)};
}
LaneResult dbl(const LaneInputs& in, double value) {
  const u64 bits = bits_of(value);
  return {.value = in.rules.out64 ? bits : flush64(bits)};
}
LaneResult half(long double exact) { return {.exact = exact}; }
LaneResult word(u64 value) { return {.value = static_cast<u32>(value)}; }

template <class F>
LaneResult in_single(const LaneInputs& in, F f) {
  return single(in, rounded(in.rules.round32, f));
}
template <class F>
LaneResult in_double(const LaneInputs& in, F f) {
  return dbl(in, rounded(in.rules.round64, f));
}

float add(float a, float b) {
  volatile float x = a, y = b, r = x + y;
  return r;
}
float mul(float a, float b) {
  volatile float x = a, y = b, r = x * y;
  return r;
}
double add(double a, double b) {
  volatile double x = a, y = b, r = x + y;
  return r;
}
double mul(double a, double b) {
  volatile double x = a, y = b, r = x * y;
  return r;
}
float div(float a, float b) {
  volatile float x = a, y = b, r = x / y;
  return r;
}

float zapped(float v) { return as_float(flush32(bits_of(v))); }

LaneResult mad(const LaneInputs& in, bool legacy) {
  const float a = zapped(in.f(0)), b = zapped(in.f(1)), c = zapped(in.f(2));
  const float result = rounded(in.rules.round32, [&] {
    const float product = legacy && (a == 0 || b == 0) ? 0.0f : zapped(mul(a, b));
    return add(product, c);
  });
  return {.value = flush32(bits_of(result))};
}

// V_MAD_F16: the product is rounded to half, and denormals are flushed throughout.
LaneResult mad16(const LaneInputs& in) {
  const auto zap = [](u16 bits) { return half_value(flush16(bits)); };
  const int round = in.rules.round64;
  const double a = zap(in.hu(0)), b = zap(in.hu(1)), c = zap(in.hu(2));
  const double product = half_value(round_to_half(static_cast<long double>(a) * b, round, false));
  long double sum = static_cast<long double>(product) + c;
  if (sum == 0 && product != 0) {
    sum = round == 2 ? -0.0L : 0.0L;  // an exact difference takes its sign from the mode
  } else if (sum == 0) {
    sum = std::signbit(product) == std::signbit(c) ? product : round == 2 ? -0.0L : 0.0L;
  }
  return half(half_value(round_to_half(sum, round, false)));
}

// Sums of halves are exact in long double but for the sign of zero, which the mode decides.
long double exact_sum(long double a, long double b, int round) {
  const long double sum = a + b;
  if (sum != 0 || std::isnan(sum)) {
    return sum;
  }
  if (a == 0 && b == 0 && std::signbit(a) == std::signbit(b)) {
    return a;
  }
  return round == 2 ? -0.0L : 0.0L;
}

// ---- minimum and maximum, as the manual lists their cases ----

struct Number {
  double value;
  bool nan, signalling;
};

Number number32(const LaneInputs& in, int i) {
  const u32 bits = in.u(i);
  return {in.f(i), is_nan32(bits), is_nan32(bits) && !(bits & 0x400000)};
}
Number number64(const LaneInputs& in, int i) {
  const u64 bits = in.source[i];
  return {in.d(i), is_nan64(bits), is_nan64(bits) && !(bits & 0x8000000000000)};
}
Number number16(const LaneInputs& in, int i) {
  const u16 bits = in.hu(i);
  return {in.h(i), is_nan16(bits), is_nan16(bits) && !(bits & 0x200)};
}

Number extreme(Number a, Number b, bool maximum, bool ieee) {
  if (ieee && (a.signalling || b.signalling))
    return {std::nan(""), true, false};
  if (a.nan)
    return b;
  if (b.nan)
    return a;
  if (a.value == 0 && b.value == 0) {
    return std::signbit(a.value) == maximum ? b : a;
  }
  return (a.value < b.value) == maximum ? b : a;
}

using Load = Number (*)(const LaneInputs&, int);

Number extreme_of(const LaneInputs& in, Load load, bool maximum, int count) {
  Number result = extreme(load(in, 0), load(in, 1), maximum, in.rules.ieee);
  return count == 3 ? extreme(result, load(in, 2), maximum, in.rules.ieee) : result;
}

Number median(const LaneInputs& in, Load load) {
  const Number a = load(in, 0), b = load(in, 1), c = load(in, 2);
  if (a.nan || b.nan || c.nan) {
    return extreme_of(in, load, false, 3);
  }
  const Number largest = extreme_of(in, load, true, 3);
  const auto same = [](Number x, Number y) {
    return x.value == y.value && std::signbit(x.value) == std::signbit(y.value);
  };
  if (same(largest, a))
    return extreme(b, c, true, in.rules.ieee);
  if (same(largest, b))
    return extreme(a, c, true, in.rules.ieee);
  return extreme(a, b, true, in.rules.ieee);
}

LaneResult from32(const LaneInputs& in, Number n) {
  return single(in, static_cast<float>(n.value));
}
LaneResult from64(const LaneInputs& in, Number n) { return dbl(in, n.value); }
LaneResult from16(Number n) { return half(n.value); }

// ---- conversions ----

template <class T>
LaneResult to_integer(T value, double low, double high) {
  if (std::isnan(value))
    return word(0);
  const double cut = std::trunc(std::clamp(static_cast<double>(value), low, high));
  return word(static_cast<u64>(static_cast<i64>(cut)));
}
LaneResult to_i32(double v) { return to_integer(v, -2147483648.0, 2147483647.0); }
LaneResult to_u32(double v) { return to_integer(v, 0, 4294967295.0); }
u32 norm(float v, float low, float scale) {
  if (std::isnan(v))
    return 0;
  const double clamped = std::min(std::max(v, low), 1.0f);
  return static_cast<u32>(static_cast<i32>(std::nearbyint(clamped * scale))) & 0xffff;
}
LaneResult norm2(float a, float b, float low, float scale) {
  return word(norm(a, low, scale) | norm(b, low, scale) << 16);
}
LaneResult pack_byte(const LaneInputs& in) {
  const u32 byte = static_cast<u32>(to_integer(in.f(0), 0, 255).value);
  const int shift = static_cast<int>(in.u(1) % 4 * 8);
  return word((in.u(2) & ~(0xffu << shift)) | byte << shift);
}

// ---- pieces of floats ----

LaneResult fraction(const LaneInputs& in) {
  const float v = in.f(0), whole = std::floor(v);
  return in_single(in, [&] {
    const float r = add(v, -whole);
    return r >= 1.0f ? 0x1.fffffep-1f : r;
  });
}
LaneResult fraction64(const LaneInputs& in) {
  const double v = in.d(0), whole = std::floor(v);
  return in_double(in, [&] {
    const double r = add(v, -whole);
    return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
  });
}
LaneResult fraction16(const LaneInputs& in) {
  const double v = in.h(0);
  const double r = v - std::floor(v);
  const bool zero_down = r == 0 && in.rules.round64 == 2;
  return half(zero_down ? -0.0 : r > 0x1.ffcp-1 ? 0x1.ffcp-1 : r);
}

template <class T>
i32 exponent_of(T v) {
  int e = 0;
  if (std::isfinite(v))
    std::frexp(v, &e);
  return e;
}
template <class T>
T mantissa_of(T v) {
  int e = 0;
  return std::isfinite(v) ? std::frexp(v, &e) : v;
}

// x * 2^n through the exponent field, rounded once.
float scaled(const LaneInputs& in) {
  const double exact = std::ldexp(static_cast<double>(in.f(0)), std::clamp(in.s(1), -500, 500));
  volatile double x = exact;
  return static_cast<float>(x);
}

// ---- division ----

template <class T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr int scale = 64, far = 96, tiny = 23, lowest = -126, underflow = -150;
  static constexpr int bias = 127, shift = 23, mask = 255;
};
template <>
struct Limits<double> {
  static constexpr int scale = 128, far = 768, tiny = 53, lowest = -1022, underflow = -1075;
  static constexpr int bias = 1023, shift = 52, mask = 2047;
};

template <class T>
int field(T v) {
  return static_cast<int>(bits_of(v) >> Limits<T>::shift) & Limits<T>::mask;
}

template <class T>
LaneResult div_scale(T s0, T s1, T s2, bool keep_denormals) {
  using L = Limits<T>;
  const auto out = [&](T v, bool flag) {
    LaneResult r{.value = bits_of(v), .flag = flag};
    if (!keep_denormals)
      r.value = sizeof(T) == 4 ? flush32(static_cast<u32>(r.value)) : flush64(r.value);
    return r;
  };
  const auto denormal = [](long double q) { return std::fabs(q) < std::ldexp(1.0L, L::lowest); };
  const long double q = static_cast<long double>(s2) / s1, r = 1.0L / s1;
  const bool is1 = bits_of(s0) == bits_of(s1), is2 = bits_of(s0) == bits_of(s2);
  const T up = std::ldexp(s0, L::scale), down = std::ldexp(s0, -L::scale);
  if (s2 == 0 || s1 == 0)
    return out(static_cast<T>(std::nan("")), false);
  if (field(s2) - field(s1) >= L::far)
    return out(is1 ? up : s0, true);
  if (field(s1) == 0)
    return out(up, false);
  if (denormal(r) && denormal(q))
    return out(is1 ? down : s0, true);
  if (denormal(r))
    return out(down, false);
  if (denormal(q))
    return out(is2 ? up : s0, true);
  if (field(s2) <= L::tiny)
    return out(up, false);
  return out(s0, false);
}

template <class T>
T div_fmas(T a, T b, T c, bool vcc, bool keep_denormals) {
  // The sum is the source of a multiplication, and flushed like one.
  T sum = std::fma(a, b, c);
  if (vcc && !keep_denormals && std::fpclassify(sum) == FP_SUBNORMAL)
    sum = std::copysign(T(0), sum);
  return !vcc ? sum
              : sum * std::ldexp(T(1),
                                 field(c) > Limits<T>::bias ? Limits<T>::scale : -Limits<T>::scale);
}

template <class T>
T div_fixup(T q, T d, T n, int round) {
  const bool negative = std::signbit(d) != std::signbit(n);
  const auto with_sign = [&](T v) { return std::copysign(v, negative ? T(-1) : T(1)); };
  if (std::isnan(n) || std::isnan(d))
    return static_cast<T>(std::nan(""));
  if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n)))
    return static_cast<T>(std::nan(""));
  if (d == 0 || std::isinf(n))
    return with_sign(HUGE_VAL);
  if (std::isinf(d) || n == 0)
    return with_sign(0);
  if (field(n) - field(d) < Limits<T>::underflow) {
    const bool away = (round == 1 && !negative) || (round == 2 && negative);
    return with_sign(away ? std::nextafter(T(0), T(1)) : T(0));
  }
  if (!std::isfinite(q)) {  // the iteration overflowed
    const bool infinite = round == 0 || (round == 1 && !negative) || (round == 2 && negative);
    return with_sign(infinite ? static_cast<T>(HUGE_VAL) : std::numeric_limits<T>::max());
  }
  return with_sign(q);
}

// ---- transcendental functions ----

constexpr double kTurn = 6.283185307179586476925;
double sin_turns(double x) {
  if (std::fabs(x) > 256 && !std::isinf(x))
    return 0;
  return std::sin(kTurn * (x - std::nearbyint(x)));
}
double cos_turns(double x) {
  if (std::fabs(x) > 256 && !std::isinf(x))
    return 1;
  const double t = std::fabs(x - std::nearbyint(x));
  return t > 0.125 && t < 0.375 ? std::sin(kTurn * (0.25 - t)) : std::cos(kTurn * t);
}
double sin_exact(double x) {
  const double t = x - std::nearbyint(x);
  return std::fabs(x) <= 256 && std::fabs(t) > 0.375 ? std::sin(kTurn * (std::copysign(0.5, t) - t))
                                                     : sin_turns(x);
}
LaneResult flushed_math(double v) { return {.value = flush32(bits_of(static_cast<float>(v)))}; }

// ---- v_trig_preop ----

constexpr char kTwoOverPi[] =
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d192"
    "1c"
    "fe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde0598"
    "0f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d"
    "08"
    "56033046fc7b6bab";

LaneResult trig_preop(const LaneInputs& in) {
  const int exponent = field(as_double(in.source[0]));
  int shift = static_cast<int>(in.u(1) % 32) * 53 + std::max(exponent - 1077, 0);
  const int scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
  double value = 0;
  for (int i = 0; i < 53; ++i, ++shift) {
    const int digit =
        shift < 1201 ? std::stoi(std::string(1, kTwoOverPi[shift / 4]), nullptr, 16) : 0;
    value = value * 2 + (digit >> (3 - shift % 4) & 1);
  }
  return in_double(in, [&] { return std::ldexp(value, scale); });
}

// ---- cube maps ----

enum Axis { x_axis, y_axis, z_axis };
Axis major(const LaneInputs& in) {
  const float x = std::fabs(in.f(0)), y = std::fabs(in.f(1)), z = std::fabs(in.f(2));
  return z >= x && z >= y ? z_axis : y >= x ? y_axis : x_axis;
}

float with_flags(const LaneInputs& in, int part) {
  const float x = in.f(0), y = in.f(1), z = in.f(2);
  const Axis axis = major(in);
  const bool negative = (axis == x_axis ? x : axis == y_axis ? y : z) < 0;
  switch (part) {
    case 0: return static_cast<float>(2 * axis + negative);
    case 1: return axis == z_axis ? (negative ? -x : x) : axis == y_axis ? x : negative ? z : -z;
    case 2: return axis == y_axis ? (negative ? -z : z) : -y;
    default: return 2 * (axis == x_axis ? x : axis == y_axis ? y : z);
  }
}

// clang-format off
const std::unordered_map<Op, Reference> kReferences = {
  {Op::v_add_f32, [](const LaneInputs& in) { return in_single(in, [&] { return add(in.f(0), in.f(1)); }); }},
  {Op::v_sub_f32, [](const LaneInputs& in) { return in_single(in, [&] { return add(in.f(0), -in.f(1)); }); }},
  {Op::v_subrev_f32, [](const LaneInputs& in) { return in_single(in, [&] { return add(in.f(1), -in.f(0)); }); }},
  {Op::v_mul_f32, [](const LaneInputs& in) { return in_single(in, [&] { return mul(in.f(0), in.f(1)); }); }},
  {Op::v_mul_legacy_f32, [](const LaneInputs& in) {
    const bool zero = zapped(in.f(0)) == 0 || zapped(in.f(1)) == 0;
    return in_single(in, [&] { return zero ? 0.0f : mul(in.f(0), in.f(1)); }); }},
  {Op::v_fma_f32, [](const LaneInputs& in) { return in_single(in, [&] { return std::fma(in.f(0), in.f(1), in.f(2)); }); }},
  {Op::v_fmac_f32, [](const LaneInputs& in) { return in_single(in, [&] { return std::fma(in.f(0), in.f(1), in.f(2)); }); }},
  {Op::v_mad_f32, [](const LaneInputs& in) { return mad(in, false); }},
  {Op::v_mac_f32, [](const LaneInputs& in) { return mad(in, false); }},
  {Op::v_madmk_f32, [](const LaneInputs& in) { return mad(in, false); }},
  {Op::v_madak_f32, [](const LaneInputs& in) { return mad(in, false); }},
  {Op::v_mad_legacy_f32, [](const LaneInputs& in) { return mad(in, true); }},
  {Op::v_min_f32, [](const LaneInputs& in) { return from32(in, extreme_of(in, number32, false, 2)); }},
  {Op::v_max_f32, [](const LaneInputs& in) { return from32(in, extreme_of(in, number32, true, 2)); }},
  {Op::v_min3_f32, [](const LaneInputs& in) { return from32(in, extreme_of(in, number32, false, 3)); }},
  {Op::v_max3_f32, [](const LaneInputs& in) { return from32(in, extreme_of(in, number32, true, 3)); }},
  {Op::v_med3_f32, [](const LaneInputs& in) { return from32(in, median(in, number32)); }},
  {Op::v_fract_f32, fraction},
  {Op::v_trunc_f32, [](const LaneInputs& in) { return single(in, std::trunc(in.f(0))); }},
  {Op::v_ceil_f32, [](const LaneInputs& in) { return single(in, std::ceil(in.f(0))); }},
  {Op::v_floor_f32, [](const LaneInputs& in) { return single(in, std::floor(in.f(0))); }},
  {Op::v_rndne_f32, [](const LaneInputs& in) { return single(in, std::nearbyint(in.f(0))); }},
  {Op::v_ldexp_f32, [](const LaneInputs& in) { return in_single(in, [&] { return scaled(in); }); }},
  {Op::v_frexp_mant_f32, [](const LaneInputs& in) { return LaneResult{bits_of(mantissa_of(in.f(0)))}; }},
  {Op::v_frexp_exp_i32_f32, [](const LaneInputs& in) { return word(static_cast<u32>(exponent_of(in.f(0)))); }},

  {Op::v_add_f64, [](const LaneInputs& in) { return in_double(in, [&] { return add(in.d(0), in.d(1)); }); }},
  {Op::v_mul_f64, [](const LaneInputs& in) { return in_double(in, [&] { return mul(in.d(0), in.d(1)); }); }},
  {Op::v_fma_f64, [](const LaneInputs& in) { return in_double(in, [&] { return std::fma(in.d(0), in.d(1), in.d(2)); }); }},
  {Op::v_fmac_f64, [](const LaneInputs& in) { return in_double(in, [&] { return std::fma(in.d(0), in.d(1), in.d(2)); }); }},
  {Op::v_min_f64, [](const LaneInputs& in) { return from64(in, extreme_of(in, number64, false, 2)); }},
  {Op::v_max_f64, [](const LaneInputs& in) { return from64(in, extreme_of(in, number64, true, 2)); }},
  {Op::v_fract_f64, fraction64},
  {Op::v_trunc_f64, [](const LaneInputs& in) { return dbl(in, std::trunc(in.d(0))); }},
  {Op::v_ceil_f64, [](const LaneInputs& in) { return dbl(in, std::ceil(in.d(0))); }},
  {Op::v_floor_f64, [](const LaneInputs& in) { return dbl(in, std::floor(in.d(0))); }},
  {Op::v_rndne_f64, [](const LaneInputs& in) { return dbl(in, std::nearbyint(in.d(0))); }},
  {Op::v_ldexp_f64, [](const LaneInputs& in) { return in_double(in, [&] { return std::ldexp(in.d(0), std::clamp(in.s(1), -5000, 5000)); }); }},
  {Op::v_frexp_mant_f64, [](const LaneInputs& in) { return LaneResult{bits_of(mantissa_of(in.d(0)))}; }},
  {Op::v_frexp_exp_i32_f64, [](const LaneInputs& in) { return word(static_cast<u32>(exponent_of(in.d(0)))); }},
  {Op::v_rcp_f64, [](const LaneInputs& in) { return dbl(in, 1.0 / in.d(0)); }},
  {Op::v_rsq_f64, [](const LaneInputs& in) { return dbl(in, 1.0 / std::sqrt(in.d(0))); }},
  {Op::v_sqrt_f64, [](const LaneInputs& in) { return in_double(in, [&] { return std::sqrt(in.d(0)); }); }},
  {Op::v_trig_preop_f64, trig_preop},

  {Op::v_add_f16, [](const LaneInputs& in) { return half(exact_sum(in.h(0), in.h(1), in.rules.round64)); }},
  {Op::v_sub_f16, [](const LaneInputs& in) { return half(exact_sum(in.h(0), -in.h(1), in.rules.round64)); }},
  {Op::v_subrev_f16, [](const LaneInputs& in) { return half(exact_sum(in.h(1), -in.h(0), in.rules.round64)); }},
  {Op::v_mul_f16, [](const LaneInputs& in) { return half(static_cast<long double>(in.h(0)) * in.h(1)); }},
  {Op::v_fma_f16, [](const LaneInputs& in) { return half(exact_sum(static_cast<long double>(in.h(0)) * in.h(1), in.h(2), in.rules.round64)); }},
  {Op::v_fma_legacy_f16, [](const LaneInputs& in) { return half(exact_sum(static_cast<long double>(in.h(0)) * in.h(1), in.h(2), in.rules.round64)); }},
  {Op::v_mad_f16, mad16}, {Op::v_mad_legacy_f16, mad16}, {Op::v_mac_f16, mad16}, {Op::v_madmk_f16, mad16}, {Op::v_madak_f16, mad16},
  {Op::v_min_f16, [](const LaneInputs& in) { return from16(extreme_of(in, number16, false, 2)); }},
  {Op::v_max_f16, [](const LaneInputs& in) { return from16(extreme_of(in, number16, true, 2)); }},
  {Op::v_min3_f16, [](const LaneInputs& in) { return from16(extreme_of(in, number16, false, 3)); }},
  {Op::v_max3_f16, [](const LaneInputs& in) { return from16(extreme_of(in, number16, true, 3)); }},
  {Op::v_med3_f16, [](const LaneInputs& in) { return from16(median(in, number16)); }},
  {Op::v_fract_f16, fraction16},
  {Op::v_trunc_f16, [](const LaneInputs& in) { return half(std::trunc(in.h(0))); }},
  {Op::v_ceil_f16, [](const LaneInputs& in) { return half(std::ceil(in.h(0))); }},
  {Op::v_floor_f16, [](const LaneInputs& in) { return half(std::floor(in.h(0))); }},
  {Op::v_rndne_f16, [](const LaneInputs& in) { return half(std::nearbyint(in.h(0))); }},
  {Op::v_ldexp_f16, [](const LaneInputs& in) { return half(std::ldexp(static_cast<long double>(in.h(0)), std::clamp<int>(in.hs(1), -200, 200))); }},
  {Op::v_frexp_mant_f16, [](const LaneInputs& in) { return half(mantissa_of(in.h(0))); }},
  {Op::v_frexp_exp_i16_f16, [](const LaneInputs& in) { return word(static_cast<u32>(exponent_of(in.h(0))) & 0xffff); }},

  {Op::v_exp_f32, [](const LaneInputs& in) { return flushed_math(std::exp2(double{zapped(in.f(0))})); }},
  {Op::v_log_f32, [](const LaneInputs& in) { return flushed_math(std::log2(double{zapped(in.f(0))})); }},
  {Op::v_exp_legacy_f32, [](const LaneInputs& in) { return flushed_math(std::exp2(double{zapped(in.f(0))})); }},
  {Op::v_log_legacy_f32, [](const LaneInputs& in) { return flushed_math(std::log2(double{zapped(in.f(0))})); }},
  {Op::v_rcp_f32, [](const LaneInputs& in) { return flushed_math(div(1.0f, zapped(in.f(0)))); }},
  {Op::v_rcp_iflag_f32, [](const LaneInputs& in) { return flushed_math(div(1.0f, zapped(in.f(0)))); }},
  {Op::v_rsq_f32, [](const LaneInputs& in) { return flushed_math(1.0 / std::sqrt(double{zapped(in.f(0))})); }},
  {Op::v_sqrt_f32, [](const LaneInputs& in) { return in_single(in, [&] { return std::sqrt(in.f(0)); }); }},
  {Op::v_sin_f32, [](const LaneInputs& in) { return flushed_math(sin_exact(zapped(in.f(0)))); }},
  {Op::v_cos_f32, [](const LaneInputs& in) { return flushed_math(cos_turns(zapped(in.f(0)))); }},
  {Op::v_exp_f16, [](const LaneInputs& in) { return half(std::exp2(in.h(0))); }},
  {Op::v_log_f16, [](const LaneInputs& in) { return half(std::log2(in.h(0))); }},
  {Op::v_rcp_f16, [](const LaneInputs& in) { return half(1.0L / in.h(0)); }},
  {Op::v_rsq_f16, [](const LaneInputs& in) { return half(1.0L / std::sqrt(static_cast<long double>(in.h(0)))); }},
  {Op::v_sqrt_f16, [](const LaneInputs& in) { return half(std::sqrt(static_cast<long double>(in.h(0)))); }},
  {Op::v_sin_f16, [](const LaneInputs& in) { return half(sin_exact(in.h(0))); }},
  {Op::v_cos_f16, [](const LaneInputs& in) { return half(cos_turns(in.h(0))); }},

  {Op::v_div_scale_f32, [](const LaneInputs& in) { return div_scale(in.f(0), in.f(1), in.f(2), in.rules.out32); }},
  {Op::v_div_scale_f64, [](const LaneInputs& in) { return div_scale(in.d(0), in.d(1), in.d(2), in.rules.out64); }},
  {Op::v_div_fmas_f32, [](const LaneInputs& in) { return in_single(in, [&] { return div_fmas(in.f(0), in.f(1), in.f(2), in.mask, in.rules.in32 && in.rules.out32); }); }},
  {Op::v_div_fmas_f64, [](const LaneInputs& in) { return in_double(in, [&] { return div_fmas(in.d(0), in.d(1), in.d(2), in.mask, in.rules.in64 && in.rules.out64); }); }},
  {Op::v_div_fixup_f32, [](const LaneInputs& in) { return single(in, div_fixup(in.f(0), in.f(1), in.f(2), in.rules.round32)); }},
  {Op::v_div_fixup_f64, [](const LaneInputs& in) { return dbl(in, div_fixup(in.d(0), in.d(1), in.d(2), in.rules.round64)); }},
  {Op::v_div_fixup_f16, [](const LaneInputs& in) {
    const double d = in.h(1), n = in.h(2);
    return half(std::isfinite(d) && std::isfinite(n) && d != 0 && n != 0 ? std::copysign(in.h(0), std::signbit(d) != std::signbit(n) ? -1.0 : 1.0) : div_fixup(in.h(0), d, n, 0)); }},
  {Op::v_div_fixup_legacy_f16, [](const LaneInputs& in) { return float_reference(Op::v_div_fixup_f16)(in); }},

  {Op::v_cvt_i32_f32, [](const LaneInputs& in) { return to_i32(in.f(0)); }},
  {Op::v_cvt_u32_f32, [](const LaneInputs& in) { return to_u32(in.f(0)); }},
  {Op::v_cvt_i32_f64, [](const LaneInputs& in) { return to_i32(in.d(0)); }},
  {Op::v_cvt_u32_f64, [](const LaneInputs& in) { return to_u32(in.d(0)); }},
  {Op::v_cvt_rpi_i32_f32, [](const LaneInputs& in) { return to_i32(std::floor(rounded(in.rules.round32, [&] { return add(in.f(0), 0.5f); }))); }},
  {Op::v_cvt_flr_i32_f32, [](const LaneInputs& in) { return to_i32(std::floor(in.f(0))); }},
  {Op::v_cvt_f32_i32, [](const LaneInputs& in) { return in_single(in, [&] { volatile i32 v = in.s(0); return static_cast<float>(v); }); }},
  {Op::v_cvt_f32_u32, [](const LaneInputs& in) { return in_single(in, [&] { volatile i64 v = in.u(0); return static_cast<float>(v); }); }},
  {Op::v_cvt_f64_i32, [](const LaneInputs& in) { return dbl(in, in.s(0)); }},
  {Op::v_cvt_f64_u32, [](const LaneInputs& in) { return dbl(in, in.u(0)); }},
  {Op::v_cvt_f32_f64, [](const LaneInputs& in) { return in_single(in, [&] { volatile double v = in.d(0); return static_cast<float>(v); }); }},
  {Op::v_cvt_f64_f32, [](const LaneInputs& in) { return LaneResult{bits_of(static_cast<double>(in.f(0)))}; }},
  {Op::v_cvt_f32_f16, [](const LaneInputs& in) { return LaneResult{bits_of(static_cast<float>(in.h(0)))}; }},
  {Op::v_cvt_f16_f32, [](const LaneInputs& in) { return half(in.f(0)); }},
  {Op::v_cvt_f16_u16, [](const LaneInputs& in) { return half(in.hu(0)); }},
  {Op::v_cvt_f16_i16, [](const LaneInputs& in) { return half(in.hs(0)); }},
  {Op::v_cvt_u16_f16, [](const LaneInputs& in) { return to_integer(in.h(0), 0, 65535); }},
  {Op::v_cvt_i16_f16, [](const LaneInputs& in) { return word(to_integer(in.h(0), -32768, 32767).value & 0xffff); }},
  {Op::v_cvt_norm_i16_f16, [](const LaneInputs& in) { return word(norm(static_cast<float>(in.h(0)), -1, 32767)); }},
  {Op::v_cvt_norm_u16_f16, [](const LaneInputs& in) { return word(norm(static_cast<float>(in.h(0)), 0, 65535)); }},
  {Op::v_cvt_f32_ubyte0, [](const LaneInputs& in) { return single(in, static_cast<float>(in.u(0) & 255)); }},
  {Op::v_cvt_f32_ubyte1, [](const LaneInputs& in) { return single(in, static_cast<float>(in.u(0) >> 8 & 255)); }},
  {Op::v_cvt_f32_ubyte2, [](const LaneInputs& in) { return single(in, static_cast<float>(in.u(0) >> 16 & 255)); }},
  {Op::v_cvt_f32_ubyte3, [](const LaneInputs& in) { return single(in, static_cast<float>(in.u(0) >> 24)); }},
  {Op::v_cvt_off_f32_i4, [](const LaneInputs& in) { const int n = static_cast<int>(in.u(0) & 15); return single(in, static_cast<float>(n >= 8 ? n - 16 : n) / 16); }},
  {Op::v_cvt_pkrtz_f16_f32, [](const LaneInputs& in) {
    const auto part = [&](int i) {
      const float v = in.f(i);
      const bool limit = in.clamp && (!std::isnan(v) || in.rules.dx10_clamp);
      return round_to_half(limit ? (v > 0 ? std::min(v, 1.0f) : 0.0f) : v, 3, true);
    };
    return word(part(0) | u32{part(1)} << 16); }},
  {Op::v_cvt_pknorm_i16_f32, [](const LaneInputs& in) { return norm2(in.f(0), in.f(1), -1, 32767); }},
  {Op::v_cvt_pknorm_u16_f32, [](const LaneInputs& in) { return norm2(in.f(0), in.f(1), 0, 65535); }},
  {Op::v_cvt_pknorm_i16_f16, [](const LaneInputs& in) { return norm2(static_cast<float>(in.h(0)), static_cast<float>(in.h(1)), -1, 32767); }},
  {Op::v_cvt_pknorm_u16_f16, [](const LaneInputs& in) { return norm2(static_cast<float>(in.h(0)), static_cast<float>(in.h(1)), 0, 65535); }},
  {Op::v_cvt_pk_u8_f32, pack_byte},
  {Op::v_cvt_pkaccum_u8_f32, pack_byte},

  {Op::v_cubeid_f32, [](const LaneInputs& in) { return single(in, with_flags(in, 0)); }},
  {Op::v_cubesc_f32, [](const LaneInputs& in) { return single(in, with_flags(in, 1)); }},
  {Op::v_cubetc_f32, [](const LaneInputs& in) { return single(in, with_flags(in, 2)); }},
  {Op::v_cubema_f32, [](const LaneInputs& in) { return in_single(in, [&] { return with_flags(in, 3); }); }},

  {Op::v_dot2c_f32_f16, [](const LaneInputs& in) {
    const auto part = [&](int i, int shift) {
      const u16 bits = static_cast<u16>(in.u(i) >> shift);
      return static_cast<float>(half_value(in.rules.in64 ? bits : flush16(bits)));
    };
    return in_single(in, [&] {
      const float low = std::fma(part(0, 0), part(1, 0), in.f(2));
      return std::fma(part(0, 16), part(1, 16), in.rules.out32 && in.rules.in32 ? low : zapped(low));
    }); }},
};
// clang-format on

}  // namespace

Reference float_reference(Op op) {
  const auto found = kReferences.find(op);
  return found == kReferences.end() ? nullptr : found->second;
}

bool is_approximate(Op op) {
  switch (op) {
    case Op::v_exp_f32:
    case Op::v_log_f32:
    case Op::v_exp_legacy_f32:
    case Op::v_log_legacy_f32:
    case Op::v_rcp_f32:
    case Op::v_rcp_iflag_f32:
    case Op::v_rsq_f32:
    case Op::v_sin_f32:
    case Op::v_cos_f32:
    case Op::v_rcp_f64:
    case Op::v_rsq_f64:
    case Op::v_exp_f16:
    case Op::v_log_f16:
    case Op::v_rcp_f16:
    case Op::v_rsq_f16:
    case Op::v_sin_f16:
    case Op::v_cos_f16: return true;
    default: return false;
  }
}

}  // namespace vgpu::isa::test
