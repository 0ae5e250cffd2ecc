// Running the waves of a work-group for one slice. All of it happens in one thread, so LDS needs no
// locking and a barrier is a comparison.
#include "device/slice.h"

#include <algorithm>

#include "device/dispatch.h"
#include "device/impl.h"

namespace vgpu::device {

// Waves of one group take turns of this many instructions: one may spin on what another writes.
constexpr u64 kWaveTurn = 4'096;

// The device as a wave sees it.
class Gpu::Impl::WaveMachine : public isa::Machine {
 public:
  explicit WaveMachine(QueueExecution& queue) : queue_(queue) {}
  // The slice ends, so that the host hears of it soon: the wave is likely to wait for an answer.
  void send_interrupt(isa::Wave& wave, u32 m0) override {
    // The interrupt carries 24 bits of M0 (KFD: SQ_INTERRUPT_WORD_WAVE data).
    events.push_back(m0 & 0xffffff);
    wave.stop_with(isa::Stop::yield);
  }
  u64 real_time() override { return gpu_clock(); }
  // The shader clock: 1 GHz, for programs that count cycles.
  u64 shader_time() override { return now_ns(); }
  void gws_init(isa::Wave&, u32 resource, u32 count) override { queue_.gws.init(resource, count); }
  bool gws_barrier(isa::Wave& wave, u32 resource) override {
    return queue_.gws.barrier(wave, resource);
  }

  std::vector<u32> events;

 private:
  QueueExecution& queue_;
};

namespace {

// All waves that have not ended are at the barrier: let them go on. False if some are not.
bool release_barrier(std::span<isa::Wave> waves) {
  const bool all = std::all_of(waves.begin(), waves.end(),
                               [](const isa::Wave& wave) { return wave.ended || wave.at_barrier; });
  if (all) {
    for (isa::Wave& wave : waves) {
      wave.at_barrier = false;
    }
  }
  return all;
}

}  // namespace

SliceResult Gpu::Impl::run_group(WorkGroup& group) {
  if (!group.waves) {
    start_waves(group, group_shape(group.packet, group.number));
  }
  WaveMachine machine(group.queue);
  SliceResult result = run_waves(group, machine);
  result.events = std::move(machine.events);
  return result;
}

SliceResult Gpu::Impl::run_waves(WorkGroup& group, WaveMachine& machine) {
  SliceResult result;
  const std::span<isa::Wave> waves(group.waves.get(), group.footprint.waves);
  for (isa::Wave& wave : waves) {
    wave.machine = &machine;
  }
  while (result.instructions < kSliceInstructions) {
    bool progress = false;
    bool alive = false;
    for (u32 i = 0; i < waves.size(); ++i) {
      isa::Wave& wave = waves[i];
      if (wave.ended || wave.at_barrier) {
        continue;
      }
      const u64 budget = std::min(kSliceInstructions - result.instructions,
                                  waves.size() == 1 ? kSliceInstructions : kWaveTurn);
      result.instructions += engine_.run(wave, std::max<u64>(budget, 1), attention_);
      alive = true;
      switch (wave.stop) {
        case isa::Stop::none: progress = true; break;
        case isa::Stop::end:
          wave.ended = true;
          progress = true;
          break;
        case isa::Stop::barrier:
          wave.at_barrier = true;
          progress = true;
          break;
        case isa::Stop::yield:
        case isa::Stop::gws_wait: ++result.sleeps; break;
        default:
          result.stop = wave.stop;
          result.wave = i;
          return result;
      }
    }
    if (attention_.load(std::memory_order_relaxed) != 0 || !machine.events.empty()) {
      break;
    }
    if (release_barrier(waves)) {
      if (group.ended()) {
        break;
      }
    } else if (!alive || !progress) {
      result.idle = machine.events.empty();
      break;
    }
  }
  return result;
}

}  // namespace vgpu::device
