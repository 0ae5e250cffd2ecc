// A queue with up to two kernels in flight, one after the other.
#pragma once

#include <cstdint>
#include <string>

#include "gpu.h"
#include "kernel_arguments.h"

namespace gp::load {

struct Work {
  const Kernel* kernel = nullptr;
  std::uint32_t groups = 0, rounds = 0;
  std::uint64_t gap_ticks = 0;
};

// What came of one kernel, by the GPU's own clock.
struct Outcome {
  std::uint32_t wrong_lanes = 0;
  std::uint64_t ticks = 0;        // from the begin of the first wave to the end of the last
  std::uint64_t gaps = 0;         // of the wave with the most: gaps above Work::gap_ticks
  std::uint64_t stood_still = 0;  // of the wave with the most: ticks in all these gaps
  // The longest gap of the wave that has the shortest one: if all had begun when the kernel was
  // stopped, every wave stood still at least that long.
  std::uint64_t least_gap = 0;

  void add(const Outcome& other);  // of another kernel: sums, and the longest
};

class Stream {
 public:
  static constexpr unsigned kInFlight = 2;

  explicit Stream(const Gpu& gpu);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  void set_priority(hsa_amd_queue_priority_t priority);
  // At most kInFlight before wait().
  void launch(const Work& work);
  // For the oldest kernel in flight.
  Outcome wait();
  unsigned in_flight() const { return launched_ - waited_; }
  // Every wave of the newest kernel has begun.
  bool all_have_begun() const;
  // The rounds of the running kernel; another thread may ask.
  std::uint32_t progress() const;
  void clear_progress() const;
  const hsa_queue_t& queue() const { return *queue_; }

 private:
  struct Slot {
    std::uint32_t room = 0;  // groups
    std::uint32_t* results = nullptr;
    WaveClock* waves = nullptr;
    KernelArguments* arguments = nullptr;
    hsa_signal_t done{};
    Work work;
  };
  void write_packet(const Slot& slot);

  const Gpu& gpu_;
  hsa_queue_t* queue_ = nullptr;
  std::uint32_t* progress_ = nullptr;
  Slot slots_[kInFlight];
  unsigned launched_ = 0, waited_ = 0;
};

}  // namespace gp::load
