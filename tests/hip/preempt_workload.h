// Kernels whose state is everywhere a wave can have it: registers, LDS between barriers, scratch,
// MFMA accumulators, divergent EXEC masks, atomics on their way. Their results do not depend on
// timing, so a run that was preempted must equal one that was not, bit for bit.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "check.h"

constexpr u32 kBlocks = 24, kBlockSize = 256, kAll = kBlocks * kBlockSize;
constexpr u32 kTickets = 64;  // drawn by each lane

// LDS and barriers: each round every thread reads what others wrote in the round before.
__global__ void lds_rounds(u32* out, u32 rounds) {
  __shared__ u32 cells[2][kBlockSize];
  u32 x = global_thread() * 2654435761u;
  cells[0][threadIdx.x] = x;
  for (u32 round = 0; round < rounds; round++) {
    __syncthreads();
    const u32* from = cells[round % 2];
    x = x * 1664525u + from[(threadIdx.x + 1 + round) % kBlockSize] + (from[x % kBlockSize] >> 3);
    cells[(round + 1) % 2][threadIdx.x] = x;
  }
  out[global_thread()] = x;
}

// Scratch with computed indices, and lanes that leave their loops at different times.
__global__ void scratch_rounds(u32* out, u32 rounds) {
  u32 values[64];
  u32 x = global_thread() * 747796405u + 1;
  for (u32 i = 0; i < 64; i++) values[i] = i * x;
  for (u32 round = 0; round < rounds; round++) {
    for (u32 i = 0; i < x % 5; i++) x = x * 31 + values[(x >> 8) % 64];
    values[x % 64] ^= x;
    x = x * 1664525u + 1013904223u;
  }
  for (u32 i = 0; i < 64; i++) x = x * 33 + values[i];
  out[global_thread()] = x;
}

// Floating point in registers; on gfx90a a 32x32 accumulator of MFMA besides.
__global__ void float_rounds(float* out, u32 rounds) {
  float x = 1.0f + static_cast<float>(global_thread() % 1000) * 1e-3f, y = 0.5f;
#ifdef __gfx90a__
  using f32x16 = __attribute__((__vector_size__(16 * sizeof(float)))) float;
  f32x16 sum = {};
#endif
  for (u32 round = 0; round < rounds; round++) {
    y = fmaf(x, y, 0.125f);
    x = x * 0.75f + 1.0f / (1.0f + y * y);
#ifdef __gfx90a__
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(x, y * 0.01f, sum, 0, 0, 0);
#endif
  }
#ifdef __gfx90a__
  for (u32 i = 0; i < 16; i++) x += sum[i];
#endif
  out[global_thread()] = x + y;
}

// Every ticket is drawn once: an atomic lost or repeated across a save shows in the sums.
__global__ void draw_tickets(u32* counters, u32* ticket_sums, u32 rounds) {
  u32 sum = 0;
  for (u32 round = 0; round < rounds; round++) sum += atomicAdd(&counters[round % 4], 1u);
  atomicAdd(&ticket_sums[blockIdx.x % 8], sum);
}

struct Results {
  std::vector<u32> lds, scratch;
  std::vector<float> floats;
  u32 tickets = 0, ticket_sum = 0;
  bool operator==(const Results& other) const {
    return lds == other.lds && scratch == other.scratch && tickets == other.tickets &&
           ticket_sum == other.ticket_sum &&
           std::memcmp(floats.data(), other.floats.data(), floats.size() * 4) == 0;
  }
};

class Workload {
 public:
  Workload() : lds_(kAll), scratch_(kAll), floats_(kAll), counters_(4), ticket_sums_(8) {
    for (hipStream_t& stream : streams_) {
      HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    }
  }
  ~Workload() {
    for (hipStream_t stream : streams_) (void)hipStreamDestroy(stream);
  }

  // Launches all kernels, on two streams, and reads what they gave.
  Results run() {
    counters_.zero();
    ticket_sums_.zero();
    HIP(hipDeviceSynchronize());
    // Long kernels: most preemptions should find waves running. An instrumented device is slow.
    static const u32 shorter = std::getenv("GPREEMPT_SLOW_DEVICE") ? 5 : 1;
    lds_rounds<<<kBlocks, kBlockSize, 0, streams_[0]>>>(lds_, 1500 / shorter);
    scratch_rounds<<<kBlocks, kBlockSize, 0, streams_[1]>>>(scratch_, 300 / shorter);
    float_rounds<<<kBlocks, kBlockSize, 0, streams_[0]>>>(floats_, 500 / shorter);
    draw_tickets<<<kBlocks, kBlockSize, 0, streams_[1]>>>(counters_, ticket_sums_, kTickets);
    finish();
    Results results;
    results.lds = lds_.read();
    results.scratch = scratch_.read();
    results.floats = floats_.read();
    for (u32 value : counters_.read()) results.tickets += value;
    for (u32 value : ticket_sums_.read()) results.ticket_sum += value;
    return results;
  }

 private:
  DeviceArray<u32> lds_, scratch_;
  DeviceArray<float> floats_;
  DeviceArray<u32> counters_, ticket_sums_;
  hipStream_t streams_[2];
};

inline u32 cycles_wanted(int argc, char** argv, u32 usual) {
  return argc > 1 ? static_cast<u32>(std::atoi(argv[1])) : usual;
}

inline void wait_microseconds(u32 microseconds) {
  if (microseconds > 0)
    usleep(microseconds);
}

// Runs the workload again and again while `stop` and `start` are called at random moments from
// another thread, until that happened `cycles` times. Every result must be the undisturbed one.
inline void check_preempted_runs(Workload& workload, u32 cycles, const std::function<void()>& stop,
                                 const std::function<void()>& start) {
  const Results undisturbed = workload.run();
  EXPECT(undisturbed.tickets == kAll * kTickets, "%u tickets were drawn", undisturbed.tickets);
  std::atomic<u32> done{0};
  std::thread preempter([&] {
    Random random(99);
    for (; done < cycles; done++) {
      wait_microseconds(random.below(4) == 0 ? 0 : random.below(1500));
      stop();
      wait_microseconds(random.below(3) == 0 ? random.below(500) : 0);
      start();
    }
  });
  u32 runs = 0;
  do {
    const Results preempted = workload.run();
    runs++;
    EXPECT(preempted.lds == undisturbed.lds, "run %u: LDS results differ", runs);
    EXPECT(preempted.scratch == undisturbed.scratch, "run %u: scratch results differ", runs);
    EXPECT(
        preempted.tickets == undisturbed.tickets && preempted.ticket_sum == undisturbed.ticket_sum,
        "run %u: %u tickets with sum %u, not %u with %u", runs, preempted.tickets,
        preempted.ticket_sum, undisturbed.tickets, undisturbed.ticket_sum);
    EXPECT(preempted == undisturbed, "run %u: float results differ", runs);
  } while (done < cycles);
  preempter.join();
  std::printf("%u runs, %u preemptions\n", runs, done.load());
}
