#include "stream.h"

#include <algorithm>
#include <cstring>

namespace gp::load {
namespace {

constexpr std::uint32_t kPackets = 64;
constexpr std::size_t kArgumentBytes = 512;  // those the compiler adds behind ours are zero

Outcome look_at(const WaveClock* waves, std::size_t count) {
  Outcome outcome;
  std::uint64_t begin = waves[0].begin, end = waves[0].end;
  outcome.least_gap = waves[0].longest_gap;
  for (const WaveClock* wave = waves; wave != waves + count; wave++) {
    begin = std::min(begin, wave->begin);
    end = std::max(end, wave->end);
    outcome.gaps = std::max(outcome.gaps, wave->gaps);
    outcome.stood_still = std::max(outcome.stood_still, wave->stood_still);
    outcome.least_gap = std::min(outcome.least_gap, wave->longest_gap);
  }
  outcome.ticks = end - begin;
  return outcome;
}

}  // namespace

void Outcome::add(const Outcome& other) {
  wrong_lanes += other.wrong_lanes;
  ticks += other.ticks;
  gaps += other.gaps;
  stood_still += other.stood_still;
  least_gap = std::max(least_gap, other.least_gap);
}

Stream::Stream(const Gpu& gpu) : gpu_(gpu), progress_(gpu.shared<std::uint32_t>(1)) {
  check(hsa().hsa_queue_create(gpu.agent, kPackets, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr,
                               UINT32_MAX, UINT32_MAX, &queue_),
        "create a queue");
  for (Slot& slot : slots_) {
    slot.arguments = static_cast<KernelArguments*>(gpu.kernel_arguments(kArgumentBytes));
    check(hsa().hsa_signal_create(0, 0, nullptr, &slot.done), "create a signal");
  }
}

Stream::~Stream() { hsa().hsa_queue_destroy(queue_); }

void Stream::set_priority(hsa_amd_queue_priority_t priority) {
  check(hsa().hsa_amd_queue_set_priority(queue_, priority), "give a queue its priority");
}

void Stream::launch(const Work& work) {
  Slot& slot = slots_[launched_ % kInFlight];
  if (slot.room < work.groups) {
    slot.results = gpu_.shared<std::uint32_t>(std::size_t{work.groups} * kLanesPerGroup);
    slot.waves = gpu_.shared<WaveClock>(std::size_t{work.groups} * kLanesPerGroup / kLanesPerWave);
    slot.room = work.groups;
  }
  slot.work = work;
  std::fill_n(slot.waves, std::size_t{work.groups} * kLanesPerGroup / kLanesPerWave, WaveClock{});
  *slot.arguments = {slot.results, slot.waves, progress_, work.gap_ticks,
                     work.rounds,  launched_,  kStep.a,   kStep.c};
  hsa().hsa_signal_store_relaxed(slot.done, 1);
  write_packet(slot);
  launched_++;
}

void Stream::write_packet(const Slot& slot) {
  const Kernel& kernel = *slot.work.kernel;
  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  packet.workgroup_size_x = kLanesPerGroup;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = slot.work.groups * kLanesPerGroup;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.private_segment_size = kernel.private_size;
  packet.group_segment_size = kernel.group_size;
  packet.kernel_object = kernel.object;
  packet.kernarg_address = slot.arguments;
  packet.completion_signal = slot.done;
  constexpr unsigned kHeader = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

  const std::uint64_t index = hsa().hsa_queue_add_write_index_relaxed(queue_, 1);
  auto* place =
      static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) + index % queue_->size;
  // The header last: with it the packet is the GPU's.
  std::memcpy(reinterpret_cast<char*>(place) + 4, reinterpret_cast<char*>(&packet) + 4, 60);
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(place),
                   kHeader | static_cast<std::uint32_t>(packet.setup) << 16, __ATOMIC_RELEASE);
  hsa().hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

Outcome Stream::wait() {
  const Slot& slot = slots_[waited_ % kInFlight];
  while (hsa().hsa_signal_wait_scacquire(slot.done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                         HSA_WAIT_STATE_BLOCKED) >= 1) {
  }
  waited_++;
  const std::uint32_t lanes = slot.work.groups * kLanesPerGroup;
  Outcome outcome = look_at(slot.waves, lanes / kLanesPerWave);
  const Expected expected(slot.work.kernel->kind, slot.arguments->seed, slot.work.rounds);
  for (std::uint32_t lane = 0; lane < lanes; lane++) {
    outcome.wrong_lanes += slot.results[lane] != expected(lane) ? 1 : 0;
  }
  return outcome;
}

bool Stream::all_have_begun() const {
  const Slot& slot = slots_[(launched_ - 1) % kInFlight];
  for (std::size_t i = 0; i < std::size_t{slot.work.groups} * kLanesPerGroup / kLanesPerWave; i++) {
    if (__atomic_load_n(&slot.waves[i].begin, __ATOMIC_ACQUIRE) == 0) {
      return false;
    }
  }
  return true;
}

std::uint32_t Stream::progress() const { return __atomic_load_n(progress_, __ATOMIC_ACQUIRE); }

void Stream::clear_progress() const { __atomic_store_n(progress_, 0, __ATOMIC_RELEASE); }

}  // namespace gp::load
