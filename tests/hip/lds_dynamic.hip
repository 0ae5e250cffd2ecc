// TEST: dynamic LDS of every width, and the whole 64 KiB of it
// BUILDS: O2 O0
#include "check.h"

// Reverses within the block, through LDS, with the given element type.
template <typename T>
__global__ void reverse(const T* in, T* out) {
  extern __shared__ __align__(16) u8 raw[];
  T* shared = reinterpret_cast<T*>(raw);
  shared[threadIdx.x] = in[global_thread()];
  __syncthreads();
  out[global_thread()] = shared[blockDim.x - 1 - threadIdx.x];
}

template <typename T>
static void check_reverse(const char* what) {
  constexpr u32 kBlocks = 5, kThreads = 192;
  const auto bytes = random_integers<u8>(kBlocks * kThreads * sizeof(T), sizeof(T));
  DeviceArray<u8> in(bytes), out(bytes.size());
  reverse<T><<<kBlocks, kThreads, kThreads * sizeof(T)>>>(reinterpret_cast<T*>(in.get()),
                                                          reinterpret_cast<T*>(out.get()));
  finish();
  std::vector<u8> want(bytes.size());
  for (u32 i = 0; i < kBlocks * kThreads; i++) {
    const u32 block = i / kThreads, from = block * kThreads + kThreads - 1 - i % kThreads;
    std::memcpy(&want[i * sizeof(T)], &bytes[from * sizeof(T)], sizeof(T));
  }
  expect_equal(out.read(), want, what);
}

// Fills all of LDS and sums it with every thread reading far away.
__global__ void fill_all(u32* out) {
  extern __shared__ u32 words[];
  constexpr u32 kWords = 16384;
  for (u32 i = threadIdx.x; i < kWords; i += blockDim.x) words[i] = i * 2654435761u + blockIdx.x;
  __syncthreads();
  u32 sum = 0;
  for (u32 i = threadIdx.x; i < kWords; i += blockDim.x) sum += words[(i * 7919u) % kWords] ^ i;
  atomicAdd(&out[blockIdx.x], sum);
}

int main() {
  check_reverse<u8>("8 bit");
  check_reverse<u16>("16 bit");
  check_reverse<u32>("32 bit");
  check_reverse<u64>("64 bit");
  check_reverse<uint4>("128 bit");

  constexpr u32 kBlocks = 6, kWords = 16384;
  DeviceArray<u32> out(kBlocks);
  out.zero();
  fill_all<<<kBlocks, 256, kWords * 4>>>(out);
  finish();
  std::vector<u32> want(kBlocks, 0);
  for (u32 b = 0; b < kBlocks; b++) {
    for (u32 i = 0; i < kWords; i++) {
      want[b] += ((i * 7919u) % kWords * 2654435761u + b) ^ i;
    }
  }
  expect_equal(out.read(), want, "64 KiB of LDS");
  return pass("dynamic LDS");
}
