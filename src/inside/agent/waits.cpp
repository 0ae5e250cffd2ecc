#include "agent/waits.h"

#include <algorithm>

#include "abi/aql.h"
#include "agent/queues.h"
#include "libc/clock.h"

namespace gp::agent {
namespace {

struct Block {
  bool blocked = false;
  u64 signal = 0;  // 0: something that is not a signal
};

bool has_fallen(u64 signal) { return runtime.signal_load(hsa_signal_t{signal}) == 0; }

Block block_of(const abi::BarrierPacket& packet, bool all) {
  Block block;
  for (const u64 signal : packet.dep_signal) {
    if (signal == 0) {
      continue;
    }
    const bool fallen = has_fallen(signal);
    if (fallen && !all) {
      return {};
    }
    if (!fallen) {
      block = {true, signal};
    }
  }
  return block;
}

const abi::BarrierPacket& packet_at(const TrackedQueue& queue, u64 index) {
  const auto* ring = static_cast<const abi::BarrierPacket*>(queue.queue->base_address);
  return ring[index & (queue.queue->size - 1)];
}

// What the packet at the read index waits for. The index moves on when the packet and all before it
// have completed, and until then the program has to keep the signals it waits for.
Block block_of(const TrackedQueue& queue) {
  const u64 read = runtime.load_read_index(queue.queue);
  if (read >= runtime.load_write_index(queue.queue)) {
    return {};
  }
  const abi::BarrierPacket& packet = packet_at(queue, read);
  const u16 header = __atomic_load_n(&packet.header, __ATOMIC_ACQUIRE);
  switch (header & abi::kHeaderTypeMask) {
    case abi::packet_barrier_and: return block_of(packet, true);
    case abi::packet_barrier_or: return block_of(packet, false);
    case abi::packet_vendor_specific: {
      const auto& waiting = reinterpret_cast<const abi::BarrierValuePacket&>(packet);
      return {waiting.vendor_format == abi::vendor_barrier_value, 0};
    }
    default: return {};
  }
}

// The parts with a packet that completes this signal. All packets of a ring count, because those
// before the read index may be running still; that an old one names the same signal costs a start
// too many.
u32 parts_completing(u64 signal) {
  u32 parts = 0;
  for (const TrackedQueue& queue : queues) {
    if (queue.state != QueueState::live || (parts & bit_of(queue.part)) != 0) {
      continue;
    }
    const u64 written = runtime.load_write_index(queue.queue);
    const u64 size = queue.queue->size;
    for (u64 i = written - std::min(written, size); i < written; i++) {
      // All kinds of packets have their completion signal in the same place.
      if (packet_at(queue, i).completion_signal == signal) {
        parts |= bit_of(queue.part);
        break;
      }
    }
  }
  return parts;
}

}  // namespace

u32 WaitSearch::look(Part own) {
  const u64 now = monotonic_ns();
  stuck_since_ns_ = stuck_since_ns_ != 0 ? stuck_since_ns_ : now;
  const bool patience_ends = now - stuck_since_ns_ >= kPatienceNs;
  const Queues::Lock lock(queues);
  const u32 others = queues.parts() & ~bit_of(own);
  has_parts_ = queues.parts() != bit_of(Part::rest);
  u32 waits = 0;
  for (const TrackedQueue& queue : queues) {
    if (!has_parts_ || queue.state != QueueState::live || queue.part != own) {
      continue;
    }
    const Block block = block_of(queue);
    const u32 producers = block.signal != 0 ? parts_completing(block.signal) : 0;
    if (!block.blocked || (producers & bit_of(own)) != 0) {
      continue;  // it runs, or will when a queue beside it has
    }
    waits |= producers != 0 || !patience_ends ? producers : others;
  }
  waits_ = waits != 0;
  return waits;
}

u32 WaitSearch::look_ms(u32 longest_ms) {
  if (!has_parts_) {
    const Queues::Lock lock(queues);
    has_parts_ = queues.parts() != bit_of(Part::rest);
  }
  if (!has_parts_) {
    return longest_ms;
  }
  const u64 stuck_ns = stuck_since_ns_ != 0 ? monotonic_ns() - stuck_since_ns_ : 0;
  const u64 half_ms = waits_ ? 0 : stuck_ns / 2'000'000;
  return static_cast<u32>(std::clamp<u64>(half_ms, 1, longest_ms));
}

}  // namespace gp::agent
