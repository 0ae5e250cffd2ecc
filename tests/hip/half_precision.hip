// TEST: half and packed half arithmetic round as the CPU does in half precision
// BUILDS: O2 O0
#include <hip/hip_fp16.h>

#include "check.h"

__global__ void scalar(const __half* a, const __half* b, __half* out, u32 count) {
  const u32 i = global_thread();
  if (i >= count)
    return;
  out[i * 6 + 0] = __hadd(a[i], b[i]);
  out[i * 6 + 1] = __hsub(a[i], b[i]);
  out[i * 6 + 2] = __hmul(a[i], b[i]);
  out[i * 6 + 3] = __hfma(a[i], b[i], a[i]);
  out[i * 6 + 4] = __float2half(__half2float(a[i]) * 3.0f);
  out[i * 6 + 5] = __hgt(a[i], b[i]) ? a[i] : b[i];
}

__global__ void packed(const __half2* a, const __half2* b, __half2* out, u32 count) {
  const u32 i = global_thread();
  if (i >= count)
    return;
  out[i * 4 + 0] = __hadd2(a[i], b[i]);
  out[i * 4 + 1] = __hmul2(a[i], b[i]);
  out[i * 4 + 2] = __hfma2(a[i], b[i], b[i]);
  out[i * 4 + 3] = __hsub2(__lowhigh2highlow(a[i]), b[i]);
}

using half_bits = _Float16;

int main() {
  constexpr u32 kCount = 4000;
  std::vector<half_bits> a(kCount), b(kCount);
  Random random(4);
  for (u32 i = 0; i < kCount; i++) {
    a[i] = static_cast<half_bits>(random.uniform(-40, 40));
    b[i] = static_cast<half_bits>(random.uniform(-40, 40));
  }
  DeviceArray<half_bits> device_a(a), device_b(b), out(kCount * 6), out2(kCount * 4);
  scalar<<<(kCount + 127) / 128, 128>>>(reinterpret_cast<__half*>(device_a.get()),
                                        reinterpret_cast<__half*>(device_b.get()),
                                        reinterpret_cast<__half*>(out.get()), kCount);
  packed<<<(kCount / 2 + 127) / 128, 128>>>(reinterpret_cast<__half2*>(device_a.get()),
                                            reinterpret_cast<__half2*>(device_b.get()),
                                            reinterpret_cast<__half2*>(out2.get()), kCount / 2);
  finish();
  // A float holds the exact product and, at these magnitudes, rounds the sums twice harmlessly: a
  // double holds them exactly.
  const auto round = [](double value) { return static_cast<half_bits>(value); };
  std::vector<half_bits> want(kCount * 6), want2(kCount * 4);
  for (u32 i = 0; i < kCount; i++) {
    const double x = a[i], y = b[i];
    want[i * 6 + 0] = round(x + y);
    want[i * 6 + 1] = round(x - y);
    want[i * 6 + 2] = round(x * y);
    want[i * 6 + 3] = round(x * y + x);
    want[i * 6 + 4] = round(x * 3);
    want[i * 6 + 5] = x > y ? a[i] : b[i];
    const u32 pair = i / 2, side = i % 2;
    const double other = a[i ^ 1];
    want2[pair * 8 + 0 + side] = round(x + y);
    want2[pair * 8 + 2 + side] = round(x * y);
    want2[pair * 8 + 4 + side] = round(x * y + y);
    want2[pair * 8 + 6 + side] = round(other - y);
  }
  expect_equal(out.read(), want, "half");
  expect_equal(out2.read(), want2, "half2");
  return pass("half precision");
}
