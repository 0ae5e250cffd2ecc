// A job under the mechanisms of the library: stopped and started at random moments, its results
// stay those of an undisturbed run, bit for bit.
#pragma once

#include <cstdlib>

#include "mechanism/controller.h"
#include "mechanism/mechanism.h"
#include "preempt_workload.h"

namespace job {

using namespace gp::mechanism;
using gp::info_of;
using gp::Mechanism;

template <class T>
T expect(gp::Result<T> result, const char* what) {
  EXPECT(result, "%s: %s", what, result.error().message().c_str());
  return std::move(*result);
}

// The kernels of preempt_workload.h with few waves, so that a stop takes little of the emulator's
// time and there can be many.
constexpr u32 kSmallBlocks = 2, kSmall = kSmallBlocks * kBlockSize;

struct SmallResults {
  std::vector<u32> lds, scratch, tickets;
  bool operator==(const SmallResults&) const = default;
};

class SmallWorkload {
 public:
  SmallWorkload() : lds_(kSmall), scratch_(kSmall), counters_(4), ticket_sums_(8) {
    for (hipStream_t& stream : streams_) {
      HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    }
  }
  SmallResults run() {
    counters_.zero();
    HIP(hipDeviceSynchronize());
    lds_rounds<<<kSmallBlocks, kBlockSize, 0, streams_[0]>>>(lds_, 600);
    scratch_rounds<<<kSmallBlocks, kBlockSize, 0, streams_[1]>>>(scratch_, 150);
    draw_tickets<<<kSmallBlocks, kBlockSize, 0, streams_[1]>>>(counters_, ticket_sums_, kTickets);
    finish();
    return {lds_.read(), scratch_.read(), counters_.read()};
  }

 private:
  DeviceArray<u32> lds_, scratch_, counters_, ticket_sums_;
  hipStream_t streams_[2];
};

// Stops and starts all queues `cycles` times, at random moments.
inline void stop_and_start(Attachment& attachment, u32 cycles) {
  Random random(7);
  for (u32 i = 0; i < cycles; i++) {
    wait_microseconds(random.below(4) == 0 ? random.below(300) : 0);
    expect(attachment.stop_all({}), "stop");
    wait_microseconds(random.below(8) == 0 ? random.below(100) : 0);
    expect(attachment.start_all(), "start");
  }
}

}  // namespace job
