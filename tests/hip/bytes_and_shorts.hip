// TEST: 8- and 16-bit arithmetic (the code that becomes SDWA) gives what the CPU gives
// BUILDS: O2 O0
#include "check.h"

template <typename F>
__host__ __device__ void each(const u8* a, const u8* b, u32 i, F store) {
  const u8 x = a[i], y = b[i];
  const i8 sx = static_cast<i8>(x), sy = static_cast<i8>(y);
  const u16 wide = static_cast<u16>(x << 8 | y);
  const short signed_wide = static_cast<short>(wide);
  store(0, static_cast<u32>(static_cast<u8>(x + y)));
  store(1, static_cast<u32>(sx * sy));
  store(2, static_cast<u32>(static_cast<u16>(wide * 3 + x)));
  store(3, static_cast<u32>(signed_wide >> 3));
  store(4, static_cast<u32>((wide >> 4) & 0xff) + (x >> 1));
  store(5, static_cast<u32>(x > y ? x - y : y - x));
  store(6, static_cast<u32>(sx < sy ? sx : sy));
  store(7, static_cast<u32>(static_cast<u8>(x << 3) | static_cast<u8>(y >> 5)));
}

__global__ void compute(const u8* a, const u8* b, u32* out) {
  const u32 i = global_thread();
  each(a, b, i, [&](u32 k, u32 value) { out[i * 8 + k] = value; });
}

// Colour arithmetic: bytes in and bytes out.
__global__ void blend(const uchar4* a, const uchar4* b, uchar4* out) {
  const u32 i = global_thread();
  const uchar4 x = a[i], y = b[i];
  out[i] = make_uchar4((x.x + y.x) / 2, (x.y * y.y) >> 8, x.z > y.z ? x.z : y.z, x.w ^ y.w);
}

int main() {
  constexpr u32 kCount = 4096;
  const auto a = random_integers<u8>(kCount, 1), b = random_integers<u8>(kCount, 2);
  DeviceArray<u8> device_a(a), device_b(b), blended(kCount);
  DeviceArray<u32> out(kCount * 8);
  compute<<<kCount / 128, 128>>>(device_a, device_b, out);
  blend<<<kCount / 4 / 128, 128>>>(reinterpret_cast<uchar4*>(device_a.get()),
                                   reinterpret_cast<uchar4*>(device_b.get()),
                                   reinterpret_cast<uchar4*>(blended.get()));
  finish();
  std::vector<u32> want(kCount * 8);
  for (u32 i = 0; i < kCount; i++) {
    each(a.data(), b.data(), i, [&](u32 k, u32 value) { want[i * 8 + k] = value; });
  }
  expect_equal(out.read(), want, "bytes and shorts");
  std::vector<u8> want_blend(kCount);
  for (u32 i = 0; i < kCount; i += 4) {
    want_blend[i + 0] = static_cast<u8>((a[i] + b[i]) / 2);
    want_blend[i + 1] = static_cast<u8>((a[i + 1] * b[i + 1]) >> 8);
    want_blend[i + 2] = a[i + 2] > b[i + 2] ? a[i + 2] : b[i + 2];
    want_blend[i + 3] = a[i + 3] ^ b[i + 3];
  }
  expect_equal(blended.read(), want_blend, "blended");
  return pass("bytes and shorts");
}
