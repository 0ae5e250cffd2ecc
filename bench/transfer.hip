// Launch latency and copy bandwidth as a HIP program sees them.
//   transfer          measure and print one JSON object
//   transfer idle     initialize HIP, print "ready" and do nothing until stdin ends
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "measure.h"

#define HIP(call)                                                        \
  do {                                                                   \
    const hipError_t error = (call);                                     \
    if (error != hipSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                      \
    }                                                                    \
  } while (false)

__global__ void nothing() {}

static std::vector<double> launch_times(unsigned count) {
  std::vector<double> times;
  for (unsigned i = 0; i < count; i++) {
    times.push_back(seconds_of([] {
      nothing<<<1, 64>>>();
      HIP(hipDeviceSynchronize());
    }));
  }
  return times;
}

static double gigabytes_per_second(void* to, const void* from, size_t size, hipMemcpyKind kind) {
  std::vector<double> times;
  for (int i = 0; i < 5; i++) {
    times.push_back(seconds_of([&] {
      HIP(hipMemcpy(to, from, size, kind));
      HIP(hipDeviceSynchronize());
    }));
  }
  return static_cast<double>(size) / median(times) * 1e-9;
}

int main(int argc, char** argv) {
  launch_times(50);
  if (argc > 1 && std::strcmp(argv[1], "idle") == 0) {
    std::printf("ready\n");
    std::fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0) {
    }
    return 0;
  }
  const auto launches = launch_times(2000);
  constexpr size_t kSize = 64 << 20;
  void *host, *device, *other;
  HIP(hipHostMalloc(&host, kSize));
  std::memset(host, 1, kSize);
  HIP(hipMalloc(&device, kSize));
  HIP(hipMalloc(&other, kSize));
  const double up = gigabytes_per_second(device, host, kSize, hipMemcpyHostToDevice);
  const double down = gigabytes_per_second(host, device, kSize, hipMemcpyDeviceToHost);
  const double across = gigabytes_per_second(other, device, kSize, hipMemcpyDeviceToDevice);
  std::printf(
      "{\"launch_us_p50\": %.2f, \"launch_us_p99\": %.2f, \"copy_h2d_gb_per_s\": %.3f, "
      "\"copy_d2h_gb_per_s\": %.3f, \"copy_d2d_gb_per_s\": %.3f}\n",
      quantile(launches, 0.5) * 1e6, quantile(launches, 0.99) * 1e6, up, down, across);
  return 0;
}
