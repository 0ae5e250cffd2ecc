#include "rate.h"

#include <algorithm>
#include <chrono>

namespace gp::load {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongEnoughMs = 20;

struct Timed {
  double ms;     // as the host saw it, with what a launch takes
  double ticks;  // as the GPU did
};

Timed timed(Stream& stream, const Work& work) {
  const auto begin = Clock::now();
  stream.launch(work);
  const Outcome outcome = stream.wait();
  const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
  if (outcome.wrong_lanes != 0) {
    fail(1, "kernel %s: %u lanes are wrong, with nobody in its way", work.kernel->kind.name,
         outcome.wrong_lanes);
  }
  return {took.count(), static_cast<double>(outcome.ticks)};
}

}  // namespace

Rate measure_rate(Stream& stream, const Kernel& kernel, std::uint32_t groups) {
  Work work{&kernel, groups, kRoundsPerLook, UINT64_MAX};
  Timed best = timed(stream, work);  // the first launch loads code
  for (best = timed(stream, work); best.ms < kLongEnoughMs && work.rounds < UINT32_MAX / 4;
       best = timed(stream, work)) {
    work.rounds *= 2;
  }
  // Whoever else takes a CPU or the GPU makes it slower, never faster; and the host sees the launch
  // as well, so the most ticks per millisecond are the truest.
  double ticks_per_ms = best.ticks / best.ms;
  for (int again = 0; again < 4; again++) {
    const Timed next = timed(stream, work);
    ticks_per_ms = std::max(ticks_per_ms, next.ticks / next.ms);
    best.ticks = std::min(best.ticks, next.ticks);
  }
  return {work.rounds / (best.ticks / ticks_per_ms), ticks_per_ms};
}

Work work_of(const Kernel& kernel, std::uint32_t groups, double ms, const Rate& rate) {
  const double looks = std::clamp(ms * rate.rounds_per_ms / kRoundsPerLook, 1.0,
                                  static_cast<double>(UINT32_MAX / kRoundsPerLook));
  const double look_ticks = kRoundsPerLook / rate.rounds_per_ms * rate.ticks_per_ms;
  return {&kernel, groups, static_cast<std::uint32_t>(looks) * kRoundsPerLook,
          static_cast<std::uint64_t>(16 * look_ticks + 0.02 * rate.ticks_per_ms)};
}

}  // namespace gp::load
