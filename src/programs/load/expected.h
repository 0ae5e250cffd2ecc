// What the kernels compute, known without computing it: n rounds of x = x * a + c are one such
// round with another a and c.
#pragma once

#include <cstdint>

namespace gp::load {

using u32 = std::uint32_t;

struct Step {
  u32 a, c;
};
constexpr Step kStep = {1664525u, 1013904223u};

// `rounds` steps in one.
constexpr Step repeated(Step step, u32 rounds) {
  Step all = {1, 0};
  for (; rounds != 0; rounds /= 2) {
    if (rounds % 2 != 0) {
      all = {all.a * step.a, all.c * step.a + step.c};
    }
    step = {step.a * step.a, step.c * step.a + step.c};
  }
  return all;
}
static_assert(repeated({3, 1}, 2).a == 9 && repeated({3, 1}, 2).c == 4);

// A kernel keeps `states` values per lane; each makes every `rounds_per_step`th round. The result
// of a lane is their sum.
struct KernelKind {
  const char* name;
  u32 states, rounds_per_step;
};
constexpr KernelKind kKernels[] = {{"small", 1, 1}, {"registers", 96, 1}, {"lds", 64, 64}};

// The results of all lanes of one launch.
class Expected {
 public:
  constexpr Expected(const KernelKind& kind, u32 seed, u32 rounds)
      : seed_(seed), states_(kind.states), step_(repeated(kStep, rounds / kind.rounds_per_step)) {}

  constexpr u32 operator()(u32 lane) const {
    // State n begins with first + n * 40503, as in kernels.cl.
    const u32 first = (seed_ + lane) * 2654435761u;
    const u32 sum_of_firsts = states_ * first + 40503u * (states_ * (states_ - 1) / 2);
    return step_.a * sum_of_firsts + states_ * step_.c;
  }

 private:
  u32 seed_, states_;
  Step step_;
};

}  // namespace gp::load
