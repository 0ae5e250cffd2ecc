// TEST: the double math library is within a few units of the CPU's long double results
#include "check.h"

struct Function {
  const char* name;
  double limit;
  double low, high;
  long double (*reference)(long double);
};

// In the order of the switch in evaluate().
// clang-format off
constexpr Function kFunctions[] = {
    {"sin",    4, -100,  100, [](long double x) { return std::sin(x); }},
    {"cos",    4, -100,  100, [](long double x) { return std::cos(x); }},
    {"tan",    5, -100,  100, [](long double x) { return std::tan(x); }},
    {"atan",   5, -100,  100, [](long double x) { return std::atan(x); }},
    {"exp",    3, -300,  300, [](long double x) { return std::exp(x); }},
    {"log",    3, 1e-9,  1e9, [](long double x) { return std::log(x); }},
    {"sqrt",   1,    0,  1e9, [](long double x) { return std::sqrt(x); }},
    {"rsqrt",  2, 1e-9,  1e9, [](long double x) { return 1 / std::sqrt(x); }},
    {"cbrt",   2, -1e9,  1e9, [](long double x) { return std::cbrt(x); }},
    {"tanh",   5,  -10,   10, [](long double x) { return std::tanh(x); }},
    {"pow",   16, 1e-3,  1e3, [](long double x) { return std::pow(x, 2.5L); }},
    {"erf",   16,   -4,    4, [](long double x) { return std::erf(x); }},
    {"tgamma",16,  0.5,   20, [](long double x) { return std::tgamma(x); }},
    {"1/x",    1, -1e9,  1e9, [](long double x) { return 1 / x; }},
    {"fmod",   0, -1e3,  1e3, [](long double x) { return std::fmod(x, 7.25L); }},
    {"round",  0, -1e4,  1e4, [](long double x) { return std::round(x); }},
};
// clang-format on
constexpr u32 kFunctionCount = std::size(kFunctions), kPoints = 128;

__device__ double evaluate(u32 function, double x) {
  switch (function) {
    case 0: return sin(x);
    case 1: return cos(x);
    case 2: return tan(x);
    case 3: return atan(x);
    case 4: return exp(x);
    case 5: return log(x);
    case 6: return sqrt(x);
    case 7: return rsqrt(x);
    case 8: return cbrt(x);
    case 9: return tanh(x);
    case 10: return pow(x, 2.5);
    case 11: return erf(x);
    case 12: return tgamma(x);
    case 13: return 1.0 / x;
    case 14: return fmod(x, 7.25);
    case 15: return round(x);
  }
  return NAN;
}

__global__ void compute(const double* in, double* out) {
  const u32 i = global_thread();
  out[i] = evaluate(blockIdx.x, in[i]);
}

int main() {
  std::vector<double> in;
  Random random(5);
  for (const Function& f : kFunctions) {
    for (u32 p = 0; p < kPoints; p++) {
      in.push_back(f.low + (f.high - f.low) * static_cast<double>(random.next() >> 11) * 0x1p-53);
    }
  }
  DeviceArray<double> device_in(in), out(in.size());
  compute<<<kFunctionCount, kPoints>>>(device_in, out);
  finish();
  const auto got = out.read();
  for (u32 f = 0; f < kFunctionCount; f++) {
    for (u32 p = 0; p < kPoints; p++) {
      const double x = in[f * kPoints + p], y = got[f * kPoints + p];
      const long double want = kFunctions[f].reference(x);
      EXPECT(ulp_distance(y, want) <= kFunctions[f].limit, "%s(%a) is %a, expected %La (%.1f ulp)",
             kFunctions[f].name, x, y, want, ulp_distance(y, want));
    }
  }
  return pass("double math library");
}
