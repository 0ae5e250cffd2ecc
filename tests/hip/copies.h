// Copies of every kind and odd sizes, compared with what memcpy does to a copy of the memory.
#pragma once

#include <algorithm>

#include "check.h"

// One copy inside a larger buffer, so that a byte too many is seen.
inline void check_linear_copy(size_t size, size_t source_offset, size_t target_offset) {
  const auto source = random_integers<u8>(size + source_offset + 64, size + 1);
  std::vector<u8> want(size + target_offset + 64, 0xee);
  DeviceArray<u8> device_source(source), device_target(want);
  HIP(hipMemcpy(device_target + target_offset, device_source + source_offset, size,
                hipMemcpyDeviceToDevice));
  std::memcpy(want.data() + target_offset, source.data() + source_offset, size);
  expect_equal(device_target.read(), want, "device to device");

  // To the host and back, at odd addresses.
  std::vector<u8> host(size + target_offset + 64, 0xdd);
  std::vector<u8> want_host = host;
  HIP(hipMemcpy(host.data() + target_offset, device_source + source_offset, size,
                hipMemcpyDeviceToHost));
  std::memcpy(want_host.data() + target_offset, source.data() + source_offset, size);
  expect_equal(host, want_host, "device to host");
  HIP(hipMemcpy(device_target + source_offset % 8, host.data() + target_offset, size,
                hipMemcpyHostToDevice));
  std::memcpy(want.data() + source_offset % 8, host.data() + target_offset, size);
  expect_equal(device_target.read(), want, "host to device");
}

inline void check_rectangle_copies() {
  constexpr size_t kPitch = 300, kWidth = 211, kHeight = 37;
  const auto source = random_integers<u8>(kPitch * kHeight, 5);
  DeviceArray<u8> device_source(source);
  u8* device_target;
  size_t target_pitch;
  HIP(hipMallocPitch(reinterpret_cast<void**>(&device_target), &target_pitch, kWidth, kHeight));
  HIP(hipMemcpy2D(device_target, target_pitch, device_source, kPitch, kWidth, kHeight,
                  hipMemcpyDeviceToDevice));
  std::vector<u8> back(kWidth * kHeight), want(kWidth * kHeight);
  HIP(hipMemcpy2D(back.data(), kWidth, device_target, target_pitch, kWidth, kHeight,
                  hipMemcpyDeviceToHost));
  for (size_t y = 0; y < kHeight; y++) {
    std::memcpy(&want[y * kWidth], &source[y * kPitch], kWidth);
  }
  expect_equal(back, want, "2D copy");
  HIP(hipFree(device_target));
}

inline void check_memset() {
  DeviceArray<u8> bytes(10'007);
  HIP(hipMemset(bytes, 0x5a, 10'007));
  expect_equal(bytes.read(), std::vector<u8>(10'007, 0x5a), "memset");
  HIP(hipMemset(bytes + 13, 0xa5, 1001));
  std::vector<u8> want(10'007, 0x5a);
  std::fill(want.begin() + 13, want.begin() + 13 + 1001, 0xa5);
  expect_equal(bytes.read(), want, "memset at an odd address");
  DeviceArray<u32> words(3001);
  HIP(hipMemsetD32(words.get(), 0x12345678, 3001));
  expect_equal(words.read(), std::vector<u32>(3001, 0x12345678), "memset of words");
}

inline void check_asynchronous_copies() {
  constexpr size_t kSize = 1 << 20;
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  u8 *in, *out;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&in), kSize));
  HIP(hipHostMalloc(reinterpret_cast<void**>(&out), kSize));
  const auto data = random_integers<u8>(kSize, 9);
  std::memcpy(in, data.data(), kSize);
  DeviceArray<u8> a(kSize), b(kSize);
  HIP(hipMemcpyAsync(a, in, kSize, hipMemcpyHostToDevice, stream));
  HIP(hipMemcpyAsync(b, a, kSize, hipMemcpyDeviceToDevice, stream));
  HIP(hipMemcpyAsync(out, b, kSize, hipMemcpyDeviceToHost, stream));
  HIP(hipStreamSynchronize(stream));
  EXPECT(std::memcmp(out, data.data(), kSize) == 0, "asynchronous copies lost data");
  HIP(hipHostFree(in));
  HIP(hipHostFree(out));
  HIP(hipStreamDestroy(stream));
}

inline void check_copies() {
  const size_t sizes[] = {1, 3, 4, 63, 64, 65, 255, 4095, 4096, 4097, 65'537, 1'000'003};
  for (size_t size : sizes) check_linear_copy(size, size % 7, size % 5);
  check_linear_copy(20'000'001, 3, 1);  // above the size that is staged
  check_rectangle_copies();
  check_memset();
  check_asynchronous_copies();
}
