// TEST: MFMA of f32, f16, bf16, i8 and f64 multiplies matrices as the CPU does
// PROFILES: mi210
// BUILDS: O2 O0
#include "check.h"

using f32x4 = __attribute__((__vector_size__(4 * sizeof(float)))) float;
using f32x16 = __attribute__((__vector_size__(16 * sizeof(float)))) float;
using i32x4 = __attribute__((__vector_size__(4 * sizeof(int)))) int;
using f64x4 = __attribute__((__vector_size__(4 * sizeof(double)))) double;
using f16x4 = __attribute__((__vector_size__(4 * sizeof(_Float16)))) _Float16;
using i16x4 = __attribute__((__vector_size__(4 * sizeof(short)))) short;

// In each: A is M x K and B is K x N, row by row. Lane l holds row (or column) l % M and the k's of
// its group l / M. D: four rows per group of lanes, as the CDNA manual draws it.

__global__ void f32_16x16x4(const float* a, const float* b, float* d) {
#ifdef __gfx90a__
  const u32 lane = threadIdx.x, row = lane % 16, k = lane / 16;
  f32x4 sum = {0, 0, 0, 0};
  sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[row * 4 + k], b[k * 16 + row], sum, 0, 0, 0);
  for (u32 i = 0; i < 4; i++) d[(k * 4 + i) * 16 + row] = sum[i];
#endif
}

__global__ void f32_32x32x2(const float* a, const float* b, float* d) {
#ifdef __gfx90a__
  const u32 lane = threadIdx.x, row = lane % 32, k = lane / 32;
  f32x16 sum = {};
  sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[row * 2 + k], b[k * 32 + row], sum, 0, 0, 0);
  for (u32 i = 0; i < 16; i++) d[(i / 4 * 8 + k * 4 + i % 4) * 32 + row] = sum[i];
#endif
}

__global__ void f16_16x16x16(const _Float16* a, const _Float16* b, float* d) {
#ifdef __gfx90a__
  const u32 lane = threadIdx.x, row = lane % 16, group = lane / 16;
  f16x4 av, bv;
  for (u32 i = 0; i < 4; i++) {
    av[i] = a[row * 16 + group * 4 + i];
    bv[i] = b[(group * 4 + i) * 16 + row];
  }
  f32x4 sum = {0, 0, 0, 0};
  sum = __builtin_amdgcn_mfma_f32_16x16x16f16(av, bv, sum, 0, 0, 0);
  for (u32 i = 0; i < 4; i++) d[(group * 4 + i) * 16 + row] = sum[i];
#endif
}

__global__ void bf16_16x16x16(const u16* a, const u16* b, float* d) {
#ifdef __gfx90a__
  const u32 lane = threadIdx.x, row = lane % 16, group = lane / 16;
  i16x4 av, bv;
  for (u32 i = 0; i < 4; i++) {
    av[i] = static_cast<short>(a[row * 16 + group * 4 + i]);
    bv[i] = static_cast<short>(b[(group * 4 + i) * 16 + row]);
  }
  f32x4 sum = {0, 0, 0, 0};
  sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(av, bv, sum, 0, 0, 0);
  for (u32 i = 0; i < 4; i++) d[(group * 4 + i) * 16 + row] = sum[i];
#endif
}

__global__ void i8_16x16x16(const i8* a, const i8* b, int* d) {
#ifdef __gfx90a__
  const u32 lane = threadIdx.x, row = lane % 16, group = lane / 16;
  u32 av = 0, bv = 0;
  for (u32 i = 0; i < 4; i++) {
    av |= static_cast<u32>(static_cast<u8>(a[row * 16 + group * 4 + i])) << (8 * i);
    bv |= static_cast<u32>(static_cast<u8>(b[(group * 4 + i) * 16 + row])) << (8 * i);
  }
  i32x4 sum = {0, 0, 0, 0};
  sum = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(av), static_cast<int>(bv), sum, 0, 0,
                                             0);
  for (u32 i = 0; i < 4; i++) d[(group * 4 + i) * 16 + row] = sum[i];
#endif
}

__global__ void f64_16x16x4(const double* a, const double* b, double* d) {
#ifdef __gfx90a__
  const u32 lane = threadIdx.x, row = lane % 16, k = lane / 16;
  f64x4 sum = {0, 0, 0, 0};
  sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[row * 4 + k], b[k * 16 + row], sum, 0, 0, 0);
  for (u32 i = 0; i < 4; i++) d[(k + 4 * i) * 16 + row] = sum[i];
#endif
}

// The accumulator of 16 dependent products stays in registers (AGPRs where the compiler likes).
__global__ void f32_chain(const float* a, const float* b, float* d, u32 rounds) {
#ifdef __gfx90a__
  const u32 lane = threadIdx.x, row = lane % 16, k = lane / 16;
  f32x4 sum = {0, 0, 0, 0};
  for (u32 r = 0; r < rounds; r++) {
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[r * 64 + row * 4 + k], b[r * 64 + k * 16 + row],
                                               sum, 0, 0, 0);
  }
  for (u32 i = 0; i < 4; i++) d[(k * 4 + i) * 16 + row] = sum[i];
#endif
}

// Small integers, so that every sum is exact whatever the order.
template <typename T>
static std::vector<T> small_integers(size_t count, u64 seed) {
  Random random(seed);
  std::vector<T> out(count);
  for (T& value : out) value = static_cast<T>(static_cast<int>(random.below(15)) - 7);
  return out;
}

template <typename In, typename Out>
static std::vector<Out> product(const std::vector<In>& a, const std::vector<In>& b, u32 m, u32 k) {
  std::vector<Out> d(m * m);
  for (u32 y = 0; y < m; y++) {
    for (u32 x = 0; x < m; x++) {
      Out sum = 0;
      for (u32 i = 0; i < k; i++) {
        sum += static_cast<Out>(a[y * k + i]) * static_cast<Out>(b[i * m + x]);
      }
      d[y * m + x] = sum;
    }
  }
  return d;
}

template <typename In, typename Out>
static void check(void (*kernel)(const In*, const In*, Out*), u32 m, u32 k, const char* what) {
  const auto a = small_integers<In>(m * k, 1), b = small_integers<In>(k * m, 2);
  DeviceArray<In> device_a(a), device_b(b);
  DeviceArray<Out> d(m * m);
  kernel<<<1, 64>>>(device_a, device_b, d);
  finish();
  expect_equal(d.read(), product<In, Out>(a, b, m, k), what);
}

static u16 to_bf16(float value) {
  u32 bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<u16>(bits >> 16);
}

int main() {
  check<float, float>(f32_16x16x4, 16, 4, "f32 16x16x4");
  check<float, float>(f32_32x32x2, 32, 2, "f32 32x32x2");
  check<_Float16, float>(f16_16x16x16, 16, 16, "f16 16x16x16");
  check<i8, int>(i8_16x16x16, 16, 16, "i8 16x16x16");
  check<double, double>(f64_16x16x4, 16, 4, "f64 16x16x4");

  const auto a = small_integers<float>(256, 3), b = small_integers<float>(256, 4);
  std::vector<u16> a16, b16;
  for (float value : a) a16.push_back(to_bf16(value));
  for (float value : b) b16.push_back(to_bf16(value));
  DeviceArray<u16> device_a16(a16), device_b16(b16);
  DeviceArray<float> d(256);
  bf16_16x16x16<<<1, 64>>>(device_a16, device_b16, d);
  finish();
  expect_equal(d.read(), product<float, float>(a, b, 16, 16), "bf16 16x16x16");

  constexpr u32 kRounds = 16;
  const auto many_a = small_integers<float>(64 * kRounds, 5),
             many_b = small_integers<float>(64 * kRounds, 6);
  DeviceArray<float> device_a(many_a), device_b(many_b);
  f32_chain<<<1, 64>>>(device_a, device_b, d, kRounds);
  finish();
  std::vector<float> want(256, 0.0f);
  for (u32 r = 0; r < kRounds; r++) {
    const std::vector<float> ra(many_a.begin() + r * 64, many_a.begin() + r * 64 + 64);
    const std::vector<float> rb(many_b.begin() + r * 64, many_b.begin() + r * 64 + 64);
    const auto part = product<float, float>(ra, rb, 16, 4);
    for (u32 i = 0; i < 256; i++) want[i] += part[i];
  }
  expect_equal(d.read(), want, "chain");
  return pass("MFMA");
}
