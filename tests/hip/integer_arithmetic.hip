// TEST: 32- and 64-bit integer arithmetic, bit counting and division give what the CPU gives
// BUILDS: O2 O0
#include "check.h"

template <typename F>
__host__ __device__ void each(u64 x, u64 y, F store) {
  const u32 a = static_cast<u32>(x), b = static_cast<u32>(y) | 1;
  const i64 sx = static_cast<i64>(x), sy = static_cast<i64>(y | 1);
  store(0, x * y);
  store(1, x / (y | 1));
  store(2, x % (y | 1));
  store(3, static_cast<u64>(sx / sy));
  store(4, static_cast<u64>(sx % sy));
  store(5, a / b + u64{a % b} * 7);
  store(6, static_cast<u64>(static_cast<i32>(a) / static_cast<i32>(b)));
  store(7, (x << (y % 64)) ^ (x >> (y % 61)));
  store(8, static_cast<u64>(sx >> (y % 63)));
  store(9, x - y + (x < y ? 1 : 0));
  store(10, (static_cast<unsigned __int128>(x) * y) >> 64);
  store(11, x > y ? x : y);
}

__global__ void compute(const u64* a, const u64* b, u64* out) {
  const u32 i = global_thread();
  each(a[i], b[i], [&](u32 k, u64 value) { out[i * 12 + k] = value; });
}

__global__ void count_bits(const u64* a, u32* out) {
  const u32 i = global_thread();
  const u32 low = static_cast<u32>(a[i]);
  out[i * 6 + 0] = __popcll(a[i]);
  out[i * 6 + 1] = __clzll(a[i]);
  out[i * 6 + 2] = __ffsll(static_cast<unsigned long long>(a[i]));
  out[i * 6 + 3] = __brev(low);
  out[i * 6 + 4] = __umulhi(low, 0xdeadbeef);
  out[i * 6 + 5] = __byte_perm(low, ~low, 0x3715);
}

static u32 byte_perm(u64 both, u32 selector) {
  u32 out = 0;
  for (u32 i = 0; i < 4; i++) {
    out |= static_cast<u32>(both >> (selector >> (4 * i) & 7) * 8 & 0xff) << (8 * i);
  }
  return out;
}

int main() {
  constexpr u32 kCount = 1024;
  auto a = random_integers<u64>(kCount, 1), b = random_integers<u64>(kCount, 2);
  for (u32 i = 0; i < kCount; i++) {
    a[i] >>= i % 64;
    b[i] >>= (i * 7) % 64;
  }
  DeviceArray<u64> device_a(a), device_b(b), out(kCount * 12);
  DeviceArray<u32> counts(kCount * 6);
  compute<<<kCount / 64, 64>>>(device_a, device_b, out);
  count_bits<<<kCount / 64, 64>>>(device_a, counts);
  finish();
  std::vector<u64> want(kCount * 12);
  std::vector<u32> want_counts(kCount * 6);
  for (u32 i = 0; i < kCount; i++) {
    each(a[i], b[i], [&](u32 k, u64 value) { want[i * 12 + k] = value; });
    const u32 low = static_cast<u32>(a[i]);
    u32 reversed = 0;
    for (u32 k = 0; k < 32; k++) reversed |= (low >> k & 1) << (31 - k);
    want_counts[i * 6 + 0] = static_cast<u32>(__builtin_popcountll(a[i]));
    want_counts[i * 6 + 1] = a[i] == 0 ? 64 : static_cast<u32>(__builtin_clzll(a[i]));
    want_counts[i * 6 + 2] = static_cast<u32>(__builtin_ffsll(static_cast<i64>(a[i])));
    want_counts[i * 6 + 3] = reversed;
    want_counts[i * 6 + 4] = static_cast<u32>(u64{low} * 0xdeadbeefu >> 32);
    want_counts[i * 6 + 5] = byte_perm(u64{~low} << 32 | low, 0x3715);
  }
  expect_equal(out.read(), want, "arithmetic");
  expect_equal(counts.read(), want_counts, "bit counts");
  return pass("integer arithmetic");
}
