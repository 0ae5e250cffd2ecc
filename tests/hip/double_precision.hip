// TEST: double arithmetic, division and square root round as on the CPU
// BUILDS: O2 O0
#include "check.h"

__global__ void compute(const double* a, const double* b, double* out, u32 count) {
  const u32 i = global_thread();
  if (i >= count)
    return;
  out[i * 8 + 0] = __dadd_rn(a[i], b[i]);
  out[i * 8 + 1] = __dmul_rn(a[i], b[i]);
  out[i * 8 + 2] = fma(a[i], b[i], 0.125);
  out[i * 8 + 3] = a[i] / b[i];
  out[i * 8 + 4] = sqrt(fabs(a[i]));
  out[i * 8 + 5] = floor(a[i]) + trunc(b[i]) * 2 + rint(a[i]) * 4;
  out[i * 8 + 6] = fmin(a[i], b[i]) - fmax(a[i], b[i]);
  out[i * 8 + 7] = static_cast<double>(static_cast<i64>(a[i])) + static_cast<float>(b[i]);
}

int main() {
  constexpr u32 kCount = 2000;
  Random random(3);
  std::vector<double> a(kCount), b(kCount), want(kCount * 8);
  for (u32 i = 0; i < kCount; i++) {
    a[i] = std::ldexp(static_cast<double>(static_cast<i64>(random.next())), -50 - (i % 20));
    b[i] = std::ldexp(static_cast<double>(static_cast<i64>(random.next())), -55 - (i % 7));
    want[i * 8 + 0] = a[i] + b[i];
    want[i * 8 + 1] = a[i] * b[i];
    want[i * 8 + 2] = std::fma(a[i], b[i], 0.125);
    want[i * 8 + 3] = a[i] / b[i];
    want[i * 8 + 4] = std::sqrt(std::fabs(a[i]));
    want[i * 8 + 5] = std::floor(a[i]) + std::trunc(b[i]) * 2 + std::rint(a[i]) * 4;
    want[i * 8 + 6] = std::fmin(a[i], b[i]) - std::fmax(a[i], b[i]);
    want[i * 8 + 7] = static_cast<double>(static_cast<i64>(a[i])) + static_cast<float>(b[i]);
  }
  DeviceArray<double> device_a(a), device_b(b), out(kCount * 8);
  compute<<<(kCount + 63) / 64, 64>>>(device_a, device_b, out, kCount);
  finish();
  const auto got = out.read();
  for (u32 i = 0; i < kCount * 8; i++) {
    // The device's square root is allowed one unit.
    const double limit = i % 8 == 4 ? 1 : 0;
    EXPECT(ulp_distance(got[i], static_cast<long double>(want[i])) <= limit,
           "result %u of (%a, %a) is %a, expected %a", i % 8, a[i / 8], b[i / 8], got[i], want[i]);
  }
  return pass("double precision");
}
