// TEST: 32- and 64-bit integer atomics, in global memory and in LDS, lose no update
// BUILDS: O2 O0
#include <algorithm>

#include "check.h"

template <typename T>
struct Cells {
  T add, sub, min, max, bit_and, bit_or, bit_xor, exchange, cas, increment, decrement;
};

template <typename T>
__device__ void update(Cells<T>* cells, u32 i) {
  const T value = static_cast<T>(i) * static_cast<T>(0x9e3779b97f4a7c15ull);
  atomicAdd(&cells->add, value);
  atomicMin(&cells->min, value);
  atomicMax(&cells->max, value);
  atomicAnd(&cells->bit_and, static_cast<T>(~(T(1) << (i % 31))));
  atomicOr(&cells->bit_or, T(1) << (i % 29));
  atomicXor(&cells->bit_xor, value);
  // A counter by compare-and-swap: every thread gets through once.
  T seen = cells->cas, expected;
  do {
    expected = seen;
    seen = atomicCAS(&cells->cas, expected, expected + 3);
  } while (seen != expected);
}

__global__ void global_32(Cells<u32>* cells, u32* old) {
  const u32 i = global_thread();
  update(cells, i);
  atomicSub(&cells->sub, i);
  old[i] = atomicInc(&cells->increment, 1000);
  atomicDec(&cells->decrement, 77);
  atomicExch(&cells->exchange, i + 1);
}

__global__ void global_64(Cells<u64>* cells) { update(cells, global_thread()); }

__global__ void shared_32(u32* sums, u32* returned) {
  __shared__ u32 sum, highest, histogram[16];
  if (threadIdx.x == 0)
    sum = highest = 0;
  if (threadIdx.x < 16)
    histogram[threadIdx.x] = 0;
  __syncthreads();
  returned[global_thread()] = atomicAdd(&sum, 1u);
  atomicMax(&highest, (threadIdx.x * 37) % 101);
  atomicAdd(&histogram[threadIdx.x % 16], threadIdx.x);
  __syncthreads();
  if (threadIdx.x < 16)
    atomicAdd(&sums[threadIdx.x], histogram[threadIdx.x]);
  if (threadIdx.x == 0)
    atomicAdd(&sums[16], sum * 1000 + highest);
}

constexpr u32 kThreads = 20 * 128;

template <typename T>
static Cells<T> expected_updates() {
  Cells<T> want{};
  want.min = ~T(0);
  want.bit_and = ~T(0);
  for (u32 i = 0; i < kThreads; i++) {
    const T value = static_cast<T>(i) * static_cast<T>(0x9e3779b97f4a7c15ull);
    want.add += value;
    want.min = value < want.min ? value : want.min;
    want.max = value > want.max ? value : want.max;
    want.bit_and &= ~(T(1) << (i % 31));
    want.bit_or |= T(1) << (i % 29);
    want.bit_xor ^= value;
    want.cas += 3;
  }
  return want;
}

template <typename T>
static void compare(const Cells<T>& got, const Cells<T>& want, const char* what) {
  EXPECT(got.add == want.add, "%s add", what);
  EXPECT(got.min == want.min, "%s min", what);
  EXPECT(got.max == want.max, "%s max", what);
  EXPECT(got.bit_and == want.bit_and, "%s and", what);
  EXPECT(got.bit_or == want.bit_or, "%s or", what);
  EXPECT(got.bit_xor == want.bit_xor, "%s xor", what);
  EXPECT(got.cas == want.cas, "%s compare and swap", what);
}

template <typename T>
static Cells<T> initial() {
  Cells<T> cells{};
  cells.min = cells.bit_and = ~T(0);
  return cells;
}

int main() {
  DeviceArray<Cells<u32>> cells_32(std::vector<Cells<u32>>{initial<u32>()});
  DeviceArray<u32> old(kThreads);
  global_32<<<20, 128>>>(cells_32, old);
  finish();
  const Cells<u32> got = cells_32.read()[0];
  compare(got, expected_updates<u32>(), "32 bit");
  EXPECT(got.sub == 0u - kThreads * (kThreads - 1) / 2, "sub is %u", got.sub);
  EXPECT(got.increment == kThreads % 1001, "inc wraps to %u", got.increment);
  EXPECT(got.exchange >= 1 && got.exchange <= kThreads, "exchange left %u", got.exchange);
  u32 down = 0;
  for (u32 i = 0; i < kThreads; i++) down = (down == 0 || down > 77) ? 77 : down - 1;
  EXPECT(got.decrement == down, "dec wraps to %u, expected %u", got.decrement, down);
  std::vector<u32> times(1001, 0);
  for (u32 value : old.read()) times.at(value)++;
  for (u32 v = 0; v <= 1000; v++) {
    EXPECT(times[v] == kThreads / 1001 + (v < kThreads % 1001), "inc returned %u %u times", v,
           times[v]);
  }

  DeviceArray<Cells<u64>> cells_64(std::vector<Cells<u64>>{initial<u64>()});
  global_64<<<20, 128>>>(cells_64);
  finish();
  compare(cells_64.read()[0], expected_updates<u64>(), "64 bit");

  DeviceArray<u32> sums(17), returned(4 * 256);
  sums.zero();
  shared_32<<<4, 256>>>(sums, returned);
  finish();
  std::vector<u32> want(17, 0);
  u32 highest = 0;
  for (u32 i = 0; i < 256; i++) {
    want[i % 16] += i * 4;
    highest = std::max(highest, (i * 37) % 101);
  }
  want[16] = 4 * (256 * 1000 + highest);
  expect_equal(sums.read(), want, "LDS");
  std::vector<u32> seen(256, 0);
  for (u32 value : returned.read()) seen.at(value)++;
  for (u32 i = 0; i < 256; i++) EXPECT(seen[i] == 4, "LDS add returned %u %u times", i, seen[i]);
  return pass("integer atomics");
}
