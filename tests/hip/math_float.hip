// TEST: the float math library is within its error bounds of the CPU's double results
// BUILDS: O2 O0
#include "check.h"

struct Function {
  const char* name;
  double limit;  // in units in the last place, HIP's documented bound or better
  float low, high;
  double (*reference)(double);
};

// In the order of the switch in evaluate().
// clang-format off
constexpr Function kFunctions[] = {
    {"sin",     4,  -100,  100, [](double x) { return std::sin(x); }},
    {"cos",     4,  -100,  100, [](double x) { return std::cos(x); }},
    {"tan",     6,  -100,  100, [](double x) { return std::tan(x); }},
    {"asin",    4,    -1,    1, [](double x) { return std::asin(x); }},
    {"acos",    4,    -1,    1, [](double x) { return std::acos(x); }},
    {"atan",    5,  -100,  100, [](double x) { return std::atan(x); }},
    {"sinh",    4,   -50,   50, [](double x) { return std::sinh(x); }},
    {"cosh",    4,   -50,   50, [](double x) { return std::cosh(x); }},
    {"tanh",    5,   -10,   10, [](double x) { return std::tanh(x); }},
    {"asinh",   4, -1000, 1000, [](double x) { return std::asinh(x); }},
    {"acosh",   4,     1, 1000, [](double x) { return std::acosh(x); }},
    {"atanh",   5,-0.99f,0.99f, [](double x) { return std::atanh(x); }},
    {"exp",     3,   -80,   80, [](double x) { return std::exp(x); }},
    {"exp2",    3,  -120,  120, [](double x) { return std::exp2(x); }},
    {"exp10",   3,   -30,   30, [](double x) { return std::pow(10.0, x); }},
    {"expm1",   3,   -10,   10, [](double x) { return std::expm1(x); }},
    {"log",     3, 1e-30f,1e30f,[](double x) { return std::log(x); }},
    {"log2",    3, 1e-30f,1e30f,[](double x) { return std::log2(x); }},
    {"log10",   3, 1e-30f,1e30f,[](double x) { return std::log10(x); }},
    {"log1p",   3,-0.9f,  1e10f,[](double x) { return std::log1p(x); }},
    {"sqrt",    1,     0, 1e30f,[](double x) { return std::sqrt(x); }},
    {"rsqrt",   2, 1e-30f,1e30f,[](double x) { return 1 / std::sqrt(x); }},
    {"cbrt",    2, -1e9f, 1e9f, [](double x) { return std::cbrt(x); }},
    {"erf",     4,    -4,    4, [](double x) { return std::erf(x); }},
    {"erfc",   16,    -4,    8, [](double x) { return std::erfc(x); }},
    {"tgamma", 16,  0.5f,   20, [](double x) { return std::tgamma(x); }},
    {"lgamma",  6,     3,   50, [](double x) { return std::lgamma(x); }},
    {"1/x",     1, -1e9f, 1e9f, [](double x) { return 1 / x; }},
    {"floor",   0, -1e4f, 1e4f, [](double x) { return std::floor(x); }},
    {"ceil",    0, -1e4f, 1e4f, [](double x) { return std::ceil(x); }},
    {"rint",    0, -1e4f, 1e4f, [](double x) { return std::rint(x); }},
    {"round",   0, -1e4f, 1e4f, [](double x) { return std::round(x); }},
    {"trunc",   0, -1e4f, 1e4f, [](double x) { return std::trunc(x); }},
    {"fabs",    0, -1e4f, 1e4f, [](double x) { return std::fabs(x); }},
    {"sinpi",   4,   -20,   20, [](double x) { return std::sin(std::remainder(x, 2.0) * M_PI); }},
    {"x^2.5",  16, 1e-3f,  1e6f,[](double x) { return std::pow(x, 2.5); }},
    {"x^-3",   16,   -50,   50, [](double x) { return std::pow(x, -3.0); }},
    {"atan2",   6, -1e3f, 1e3f, [](double x) { return std::atan2(x, -3.5); }},
    {"hypot",   4, -1e3f, 1e3f, [](double x) { return std::hypot(x, 12.25); }},
    {"fmod",    0, -1e3f, 1e3f, [](double x) { return std::fmod(x, 7.25); }},
    {"frexp",   0, -1e9f, 1e9f, [](double x) { int e; return std::frexp(x, &e) + e; }},
    {"ldexp",   0, -1e3f, 1e3f, [](double x) { return std::ldexp(x, 5); }},
    {"j0",     16,     0,    2, [](double x) { return ::j0(x); }},
    {"x/7.3",   1, -1e9f, 1e9f, [](double x) { return x / static_cast<double>(7.3f); }},
};
// clang-format on
constexpr u32 kFunctionCount = std::size(kFunctions), kPoints = 256;

__device__ float evaluate(u32 function, float x) {
  int exponent;
  switch (function) {
    case 0: return sinf(x);
    case 1: return cosf(x);
    case 2: return tanf(x);
    case 3: return asinf(x);
    case 4: return acosf(x);
    case 5: return atanf(x);
    case 6: return sinhf(x);
    case 7: return coshf(x);
    case 8: return tanhf(x);
    case 9: return asinhf(x);
    case 10: return acoshf(x);
    case 11: return atanhf(x);
    case 12: return expf(x);
    case 13: return exp2f(x);
    case 14: return exp10f(x);
    case 15: return expm1f(x);
    case 16: return logf(x);
    case 17: return log2f(x);
    case 18: return log10f(x);
    case 19: return log1pf(x);
    case 20: return sqrtf(x);
    case 21: return rsqrtf(x);
    case 22: return cbrtf(x);
    case 23: return erff(x);
    case 24: return erfcf(x);
    case 25: return tgammaf(x);
    case 26: return lgammaf(x);
    case 27: return 1.0f / x;
    case 28: return floorf(x);
    case 29: return ceilf(x);
    case 30: return rintf(x);
    case 31: return roundf(x);
    case 32: return truncf(x);
    case 33: return fabsf(x);
    case 34: return sinpif(x);
    case 35: return powf(x, 2.5f);
    case 36: return powf(x, -3.0f);
    case 37: return atan2f(x, -3.5f);
    case 38: return hypotf(x, 12.25f);
    case 39: return fmodf(x, 7.25f);
    case 40: {
      const float mantissa = frexpf(x, &exponent);
      return mantissa + exponent;
    }
    case 41: return ldexpf(x, 5);
    case 42: return j0f(x);
    case 43: return x / 7.3f;
  }
  return NAN;
}

// One block per function, so that a wave runs one of them.
__global__ void compute(const float* in, float* out) {
  const u32 i = global_thread();
  out[i] = evaluate(blockIdx.x, in[i]);
}

int main() {
  std::vector<float> in;
  for (const Function& f : kFunctions) {
    const auto part = random_floats(kPoints, f.low, f.high, 17);
    in.insert(in.end(), part.begin(), part.end());
  }
  DeviceArray<float> device_in(in), out(in.size());
  compute<<<kFunctionCount, kPoints>>>(device_in, out);
  finish();
  const auto got = out.read();
  for (u32 f = 0; f < kFunctionCount; f++) {
    for (u32 p = 0; p < kPoints; p++) {
      const float x = in[f * kPoints + p], y = got[f * kPoints + p];
      const double want = kFunctions[f].reference(x);
      EXPECT(ulp_distance(y, want) <= kFunctions[f].limit, "%s(%a) is %a, expected %a (%.1f ulp)",
             kFunctions[f].name, x, y, want, ulp_distance(y, want));
    }
  }
  return pass("float math library");
}
