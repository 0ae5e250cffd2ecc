// An online job: answers short requests (a small matrix product each) at a steady pace and reports
// how long each took. Plain HIP; it does not know that the GPU is shared or virtual.
//   server REQUESTS PAUSE_MS
// Prints "request N us T" for each.
#include <time.h>
#include <unistd.h>

#include <vector>

#include "hip_call.h"

constexpr unsigned kTile = 16, kSize = 32;

__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const unsigned row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (unsigned t = 0; t < kSize; t += kTile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * kSize + t + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * kSize + column];
    __syncthreads();
    for (unsigned k = 0; k < kTile; k++) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}

static double now_us() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

int main(int argc, char** argv) {
  const int requests = argc > 1 ? std::atoi(argv[1]) : 100;
  const int pause_ms = argc > 2 ? std::atoi(argv[2]) : 50;
  constexpr size_t kBytes = kSize * kSize * sizeof(float);
  float *a, *b, *c;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&a), kBytes));
  HIP(hipHostMalloc(reinterpret_cast<void**>(&b), kBytes));
  HIP(hipHostMalloc(reinterpret_cast<void**>(&c), kBytes));
  int least, greatest;
  HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  hipStream_t stream;
  HIP(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, greatest));

  for (int request = 1; request <= requests; request++) {
    for (unsigned i = 0; i < kSize * kSize; i++) {
      a[i] = static_cast<float>((i * 7 + request) % 11) - 5;
      b[i] = static_cast<float>((i * 3 + request) % 5) - 2;
    }
    const double start = now_us();
    multiply<<<dim3(kSize / kTile, kSize / kTile), dim3(kTile, kTile), 0, stream>>>(a, b, c);
    HIP(hipStreamSynchronize(stream));
    const double elapsed = now_us() - start;
    for (unsigned y = 0; y < kSize; y++) {
      for (unsigned x = 0; x < kSize; x++) {
        float sum = 0;
        for (unsigned k = 0; k < kSize; k++) sum += a[y * kSize + k] * b[k * kSize + x];
        if (c[y * kSize + x] != sum) {
          std::fprintf(stderr, "request %d: wrong answer at %u, %u\n", request, y, x);
          return 1;
        }
      }
    }
    std::printf("request %d us %.0f\n", request, elapsed);
    std::fflush(stdout);
    usleep(static_cast<useconds_t>(pause_ms) * 1000);
  }
  return 0;
}
