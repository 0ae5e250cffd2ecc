// TEST: private arrays with computed indices live in scratch, one per lane
// BUILDS: O2 O0
#include <algorithm>

#include "check.h"

// A small sort on a private array: every index is computed at run time.
__global__ void sort_privately(const u32* in, u32* out) {
  u32 values[24];
  const u32 base = global_thread() * 24;
  for (u32 i = 0; i < 24; i++) values[i] = in[base + i];
  for (u32 i = 1; i < 24; i++) {
    const u32 value = values[i];
    u32 hole = i;
    while (hole > 0 && values[hole - 1] > value) {
      values[hole] = values[hole - 1];
      hole--;
    }
    values[hole] = value;
  }
  for (u32 i = 0; i < 24; i++) out[base + i] = values[i];
}

// 8 KiB per lane, all of it used.
__global__ void large_frame(u32* out, u32 seed) {
  u32 words[2048];
  for (u32 i = 0; i < 2048; i++) words[i] = i;
  u32 x = seed + global_thread();
  for (u32 i = 0; i < 500; i++) {
    x = x * 1664525u + 1013904223u;
    words[x >> 21] += x;
  }
  u32 sum = 0;
  for (u32 i = 0; i < 2048; i++) sum = sum * 31 + words[i];
  out[global_thread()] = sum;
}

static u32 large_frame_on_host(u32 seed, u32 thread) {
  std::vector<u32> words(2048);
  for (u32 i = 0; i < 2048; i++) words[i] = i;
  u32 x = seed + thread;
  for (u32 i = 0; i < 500; i++) {
    x = x * 1664525u + 1013904223u;
    words[x >> 21] += x;
  }
  u32 sum = 0;
  for (u32 i = 0; i < 2048; i++) sum = sum * 31 + words[i];
  return sum;
}

int main() {
  constexpr u32 kThreads = 200;
  auto in = random_integers<u32>(kThreads * 24);
  DeviceArray<u32> device_in(in), device_out(in.size());
  sort_privately<<<2, kThreads / 2>>>(device_in, device_out);
  finish();
  for (u32 t = 0; t < kThreads; t++) std::sort(in.begin() + t * 24, in.begin() + t * 24 + 24);
  expect_equal(device_out.read(), in, "sorted");

  DeviceArray<u32> sums(kThreads);
  large_frame<<<2, kThreads / 2>>>(sums, 12345);
  finish();
  std::vector<u32> want(kThreads);
  for (u32 t = 0; t < kThreads; t++) want[t] = large_frame_on_host(12345, t);
  expect_equal(sums.read(), want, "large frame");
  return pass("scratch arrays");
}
