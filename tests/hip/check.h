// What the programs of tests/hip share. A failed call prints one line and ends the program with
// status 1.
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../support/program.h"

#define HIP(call) check_hip((call), #call, __FILE__, __LINE__)
inline void check_hip(hipError_t error, const char* call, const char* file, int line) {
  if (error == hipSuccess)
    return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, hipGetErrorString(error));
  std::exit(1);
}

// Launches that cannot start report it here, kernels that fail at the synchronization.
inline void finish() {
  HIP(hipGetLastError());
  HIP(hipDeviceSynchronize());
}

// An array in device memory.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    HIP(hipMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& from) : DeviceArray(from.size()) { write(from); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { (void)hipFree(data_); }

  T* get() const { return data_; }
  operator T*() const { return data_; }
  size_t bytes() const { return count_ * sizeof(T); }
  void write(const std::vector<T>& from) {
    HIP(hipMemcpy(data_, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
  }
  void zero() { HIP(hipMemset(data_, 0, bytes())); }
  std::vector<T> read() const {
    std::vector<T> out(count_);
    HIP(hipMemcpy(out.data(), data_, bytes(), hipMemcpyDeviceToHost));
    return out;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// The same numbers in every run (xorshift64*).
class Random {
 public:
  explicit Random(u64 seed = 1) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  u64 next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  u32 below(u32 limit) { return static_cast<u32>((next() >> 32) % limit); }
  float uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(next() >> 40) / 16777216.0f;
  }

 private:
  u64 state_;
};

template <typename T>
std::vector<T> random_integers(size_t count, u64 seed = 1) {
  Random random(seed);
  std::vector<T> out(count);
  for (T& value : out) value = static_cast<T>(random.next() >> 16);
  return out;
}
inline std::vector<float> random_floats(size_t count, float low, float high, u64 seed = 1) {
  Random random(seed);
  std::vector<float> out(count);
  for (float& value : out) value = random.uniform(low, high);
  return out;
}

// Every element equal, or the first that is not.
template <typename T>
void expect_equal(const std::vector<T>& got, const std::vector<T>& want, const char* what) {
  EXPECT(got.size() == want.size(), "%s: %zu elements, not %zu", what, got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++) {
    if (std::memcmp(&got[i], &want[i], sizeof(T)) == 0)
      continue;
    EXPECT(false, "%s[%zu] is %.17g, expected %.17g", what, i, static_cast<double>(got[i]),
           static_cast<double>(want[i]));
  }
}

// Distance in units in the last place of T; NaN equals NaN.
inline double ulp_distance(float got, double want) {
  if (std::isnan(got) && std::isnan(want))
    return 0;
  const float nearest = static_cast<float>(want);
  if (got == nearest)
    return 0;
  if (std::isnan(got) || std::isnan(want) || std::isinf(got) || std::isinf(nearest))
    return 1e30;
  const float magnitude = std::fmax(std::fabs(nearest), 1.17549435e-38f);
  const double unit = static_cast<double>(std::nextafter(magnitude, INFINITY)) - magnitude;
  return std::fabs(static_cast<double>(got) - want) / unit;
}
inline double ulp_distance(double got, long double want) {
  if (std::isnan(got) && std::isnan(want))
    return 0;
  const double nearest = static_cast<double>(want);
  if (got == nearest)
    return 0;
  if (std::isnan(got) || std::isnan(want) || std::isinf(got) || std::isinf(nearest))
    return 1e30;
  const double magnitude = std::fmax(std::fabs(nearest), 2.2250738585072014e-308);
  const long double unit =
      static_cast<long double>(std::nextafter(magnitude, INFINITY)) - magnitude;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

__device__ inline u32 global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
