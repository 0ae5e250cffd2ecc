// Interpreted kernels against the same arithmetic in native code, in one process and in turns, so
// that both see the same machine. Prints ratios of median times.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "measure.h"
#include "native.h"

constexpr unsigned kTile = 16, kSize = 256, kRepeat = 5;
constexpr unsigned kWaves = 16, kRounds = 400'000, kThreads = 2;

#define HIP(call)                                                        \
  do {                                                                   \
    const hipError_t error = (call);                                     \
    if (error != hipSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                      \
    }                                                                    \
  } while (false)

__global__ void fma_loop(float* out, unsigned rounds, float a, float b) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = static_cast<float>(blockIdx.x + threadIdx.x);
#pragma unroll 16
  for (unsigned round = 0; round < rounds; round++) x = fmaf(x, a, b);
  out[i] = x;
}

__global__ void matmul(const float* a, const float* b, float* c, unsigned n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const unsigned row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (unsigned t = 0; t < n; t += kTile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (unsigned k = 0; k < kTile; k++) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

struct Pair {
  double gpu, native;
};

template <typename Gpu, typename Native>
static Pair measure(Gpu gpu, Native native) {
  gpu();
  native();
  std::vector<double> gpu_times, native_times;
  for (unsigned i = 0; i < kRepeat; i++) {
    native_times.push_back(seconds_of(native));
    gpu_times.push_back(seconds_of(gpu));
  }
  return {median(gpu_times), median(native_times)};
}

static Pair measure_fma() {
  float* out;
  HIP(hipMalloc(reinterpret_cast<void**>(&out), kWaves * 64 * sizeof(float)));
  // volatile: neither side may know the factors.
  volatile float a = 0.999f, b = 0.5f;
  volatile float sink = 0;
  const Pair times = measure(
      [&] {
        fma_loop<<<kWaves, 64>>>(out, kRounds, a, b);
        HIP(hipDeviceSynchronize());
      },
      [&] { sink = native_fma(kThreads, kWaves / kThreads, kRounds, a, b); });
  HIP(hipFree(out));
  return times;
}

static Pair measure_matmul() {
  constexpr size_t kBytes = kSize * kSize * sizeof(float);
  std::vector<float> a(kSize * kSize), b(kSize * kSize), c(kSize * kSize), native_c(kSize * kSize);
  for (unsigned i = 0; i < kSize * kSize; i++) {
    a[i] = static_cast<float>(i % 17) - 8;
    b[i] = static_cast<float>(i % 13) - 6;
  }
  float *device_a, *device_b, *device_c;
  HIP(hipMalloc(reinterpret_cast<void**>(&device_a), kBytes));
  HIP(hipMalloc(reinterpret_cast<void**>(&device_b), kBytes));
  HIP(hipMalloc(reinterpret_cast<void**>(&device_c), kBytes));
  HIP(hipMemcpy(device_a, a.data(), kBytes, hipMemcpyHostToDevice));
  HIP(hipMemcpy(device_b, b.data(), kBytes, hipMemcpyHostToDevice));
  const Pair times = measure(
      [&] {
        matmul<<<dim3(kSize / kTile, kSize / kTile), dim3(kTile, kTile)>>>(device_a, device_b,
                                                                           device_c, kSize);
        HIP(hipDeviceSynchronize());
      },
      // Native code is so fast that one product would measure the threads' start.
      [&] {
        for (int i = 0; i < 10; i++) {
          native_matmul(kThreads, a.data(), b.data(), native_c.data(), kSize);
        }
      });
  HIP(hipMemcpy(c.data(), device_c, kBytes, hipMemcpyDeviceToHost));
  for (unsigned i = 0; i < kSize * kSize; i++) {
    if (c[i] != native_c[i]) {
      std::fprintf(stderr, "c[%u] is %g, natively %g\n", i, c[i], native_c[i]);
      std::exit(1);
    }
  }
  return {times.gpu, times.native / 10};
}

int main() {
  const Pair fma = measure_fma(), product = measure_matmul();
  std::printf(
      "{\"fma_ratio\": %.3f, \"fma_ms\": %.3f, \"fma_native_ms\": %.3f, "
      "\"fma_lane_gops_per_s\": %.3f, \"matmul_ratio\": %.3f, \"matmul_ms\": %.3f, "
      "\"matmul_native_ms\": %.3f}\n",
      fma.gpu / fma.native, fma.gpu * 1e3, fma.native * 1e3, 1e-9 * kWaves * 64 * kRounds / fma.gpu,
      product.gpu / product.native, product.gpu * 1e3, product.native * 1e3);
  return 0;
}
