// What gpreempt-load runs on the GPU: x = x * a + c, again and again, in every lane. The host knows
// the result of any number of rounds at once (expected.h), so a kernel that was stopped in between
// and lost anything shows. No library is called: any clang that knows the target compiles it.
//
// Every wave looks at the GPU's own clock once per 64 rounds and keeps what it saw: when it began
// and ended, and how long it stood still in between.
typedef unsigned int u32;
typedef unsigned long u64;

// As in kernel_arguments.h.
struct WaveClock {
  u64 begin, end;
  u64 stood_still, gaps;  // ticks in all, and how often
  u64 longest_gap, longest_gap_end;
};

// As struct KernelArguments in kernel_arguments.h.
#define ARGUMENTS                                                                                 \
  __global u32 *results, /* one per lane */                                                       \
      __global struct WaveClock *waves,                                                           \
      __global u32 *progress, /* the rounds that the first wave has made, as it goes */           \
      u64 gap_ticks,          /* more than that between two looks at the clock: it stood still */ \
      u32 rounds,             /* a multiple of 64 */                                              \
      u32 seed, u32 a, u32 c

#define LANES 256
#define KERNEL __kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
#define ROUNDS_PER_LOOK 64

static inline u64 now(void) {
#if __has_builtin(__builtin_readsteadycounter)
  return __builtin_readsteadycounter();
#else
  return __builtin_amdgcn_s_memrealtime();
#endif
}

static inline u32 lane_of_grid(void) {
  return __builtin_amdgcn_workgroup_id_x() * LANES + __builtin_amdgcn_workitem_id_x();
}

// The first value of the Nth state of a lane (expected.h has the same).
static inline u32 first_value(u32 seed, u32 lane, u32 state) {
  return (seed + lane) * 2654435761u + state * 40503u;
}

// The host sees at once that this wave has begun.
static inline struct WaveClock begin_wave(__global struct WaveClock* waves) {
  const struct WaveClock clock = {now(), 0, 0, 0, 0, 0};
  const u32 lane = lane_of_grid();
  if ((lane & 63) == 0) {
    __opencl_atomic_store((__global atomic_ulong*)&waves[lane >> 6].begin, clock.begin,
                          __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
  }
  return clock;
}

static inline void look(struct WaveClock* clock, u64* last, u64 gap_ticks, __global u32* progress,
                        u32 round) {
  const u64 time = now();
  const u64 gap = time - *last;
  *last = time;
  if (gap > gap_ticks) {
    clock->stood_still += gap;
    clock->gaps++;
  }
  if (gap > clock->longest_gap) {
    clock->longest_gap = gap;
    clock->longest_gap_end = time;
  }
  if (lane_of_grid() == 0) {
    __opencl_atomic_store((__global atomic_uint*)progress, round, __ATOMIC_RELAXED,
                          __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
  }
}

static inline void finish(struct WaveClock clock, __global struct WaveClock* waves,
                          __global u32* results, u32 result) {
  const u32 lane = lane_of_grid();
  clock.end = now();
  if ((lane & 63) == 0) {
    waves[lane >> 6] = clock;
  }
  results[lane] = result;
}

// N states in registers: N small is a kernel of high occupancy, N large one of few waves with much
// to save.
#define REGISTER_KERNEL(name, N)                                                         \
  KERNEL void name(ARGUMENTS) {                                                          \
    const u32 lane = lane_of_grid();                                                     \
    struct WaveClock clock = begin_wave(waves);                                          \
    u64 last = clock.begin;                                                              \
    u32 x[N];                                                                            \
    _Pragma("unroll") for (u32 n = 0; n < N; n++) { x[n] = first_value(seed, lane, n); } \
    for (u32 round = 0; round < rounds; round += ROUNDS_PER_LOOK) {                      \
      _Pragma("nounroll") for (u32 i = 0; i < ROUNDS_PER_LOOK; i++) {                    \
        _Pragma("unroll") for (u32 n = 0; n < N; n++) { x[n] = x[n] * a + c; }           \
      }                                                                                  \
      look(&clock, &last, gap_ticks, progress, round + ROUNDS_PER_LOOK);                 \
    }                                                                                    \
    u32 sum = 0;                                                                         \
    _Pragma("unroll") for (u32 n = 0; n < N; n++) { sum += x[n]; }                       \
    finish(clock, waves, results, sum);                                                  \
  }
REGISTER_KERNEL(small, 1)
REGISTER_KERNEL(registers, 96)

// 64 states per lane in all of a CU's LDS: one round advances one of them.
KERNEL void lds(ARGUMENTS) {
  __local u32 cells[64 * LANES];
  const u32 lane = lane_of_grid(), mine = __builtin_amdgcn_workitem_id_x();
  struct WaveClock clock = begin_wave(waves);
  u64 last = clock.begin;
  for (u32 n = 0; n < 64; n++) {
    cells[n * LANES + mine] = first_value(seed, lane, n);
  }
  for (u32 round = 0; round < rounds; round += ROUNDS_PER_LOOK) {
    for (u32 n = 0; n < 64; n++) {
      cells[n * LANES + mine] = cells[n * LANES + mine] * a + c;
    }
    look(&clock, &last, gap_ticks, progress, round + ROUNDS_PER_LOOK);
  }
  u32 sum = 0;
  for (u32 n = 0; n < 64; n++) {
    sum += cells[n * LANES + mine];
  }
  finish(clock, waves, results, sum);
}
