// TEST: shuffles, ballots and votes see the lanes they should
// BUILDS: O2 O0
#include "check.h"

constexpr u32 kPerLane = 12;

__global__ void shuffle(const u32* in, u64* out) {
  const u32 i = global_thread(), lane = i % 64;
  const u32 value = in[i];
  u64* mine = out + i * kPerLane;
  mine[0] = __shfl(value, (lane * 5 + 3) % 64);
  mine[1] = __shfl_up(value, 3);
  mine[2] = __shfl_down(value, 7);
  mine[3] = __shfl_xor(value, 21);
  mine[4] = __shfl(value, 2, 16);
  mine[5] = __shfl_xor(value, 1, 8);
  mine[6] = __ballot(value % 3 == 0);
  mine[7] = static_cast<u64>(__any(value % 97 == 0)) | static_cast<u64>(__all(value >= 1)) << 1;
  mine[8] = static_cast<u64>(__double_as_longlong(
      __shfl(__longlong_as_double(static_cast<i64>(u64{value} << 32 | i)), lane ^ 1)));
  mine[9] = __popcll(__ballot(1));
  mine[10] = __lane_id();
  // Only some lanes take part.
  mine[11] = 0;
  if (value % 2 == 0)
    mine[11] = __ballot(value != 12346);
}

// A wave-wide sum by shuffles: what the compiler turns into DPP.
__global__ void wave_sum(const u32* in, u32* out) {
  u32 value = in[global_thread()];
  for (u32 step = 32; step > 0; step /= 2) value += __shfl_xor(value, static_cast<int>(step));
  if (threadIdx.x % 64 == 0)
    out[global_thread() / 64] = value;
}

int main() {
  constexpr u32 kThreads = 512;
  auto in = random_integers<u32>(kThreads);
  DeviceArray<u32> device_in(in), sums(kThreads / 64);
  DeviceArray<u64> out(kThreads * kPerLane);
  shuffle<<<2, kThreads / 2>>>(device_in, out);
  wave_sum<<<2, kThreads / 2>>>(device_in, sums);
  finish();

  std::vector<u64> want(kThreads * kPerLane);
  std::vector<u32> want_sums(kThreads / 64, 0);
  for (u32 i = 0; i < kThreads; i++) {
    const u32 lane = i % 64, wave = i - lane;
    const u32* w = &in[wave];
    u64* mine = &want[i * kPerLane];
    mine[0] = w[(lane * 5 + 3) % 64];
    mine[1] = w[lane < 3 ? lane : lane - 3];
    mine[2] = w[lane + 7 > 63 ? lane : lane + 7];
    mine[3] = w[lane ^ 21];
    mine[4] = w[lane / 16 * 16 + 2];
    mine[5] = w[lane ^ 1];
    u64 any = 0, all = 1;
    for (u32 k = 0; k < 64; k++) {
      mine[6] |= static_cast<u64>(w[k] % 3 == 0) << k;
      any |= w[k] % 97 == 0;
      all &= w[k] >= 1;
      if (in[i] % 2 == 0)
        mine[11] |= static_cast<u64>(w[k] % 2 == 0) << k;
    }
    mine[7] = any | all << 1;
    mine[8] = u64{w[lane ^ 1]} << 32 | (wave + (lane ^ 1));
    mine[9] = 64;
    mine[10] = lane;
    want_sums[i / 64] += in[i];
  }
  expect_equal(out.read(), want, "shuffles");
  expect_equal(sums.read(), want_sums, "wave sum");
  return pass("shuffles and ballots");
}
