#include "agent/waits.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "abi/aql.h"
#include "libc/clock.h"

namespace gp::agent {
namespace {

constexpr u32 kMostSignals = std::size(abi::BarrierPacket().dep_signal);
constexpr u64 kMostPackets = 4096;  // that are looked at in one ring, with the lock of all queues
constexpr u32 kAnyPart = (1U << kParts) - 1;
// A packet that completes the signal may come after the one that waits for it.
constexpr u64 kMemoryNs = 20'000'000;

// What a queue stands at.
struct Block {
  bool blocked = false;
  u64 index = 0;                   // of the packet
  u32 count = 0;                   // 0: by something that is not a signal
  u64 signals[kMostSignals] = {};  // that have not fallen, or may not have
};

struct Awaited {
  u32 parts = 0;
  bool all_known = true;
};

// What is known of the packet from looks before.
struct Before {
  u64 since_ns = 0;                // when it was seen first
  std::optional<Awaited> awaited;  // as found not long ago
  u32 moves = 0;
};

// What the GPU sees in its place. False: there is no memory, or nobody lets us read it so.
bool read_signal(u64 handle, abi::AmdSignal& signal) {
  const iovec here = {&signal, offsetof(abi::AmdSignal, event_mailbox_ptr)};
  const iovec there = {reinterpret_cast<void*>(handle), here.iov_len};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(here.iov_len);
}

bool has_fallen(u64 handle) {
  abi::AmdSignal signal;
  return read_signal(handle, signal) && signal.kind == abi::signal_user && signal.value == 0;
}

Block block_of(const abi::BarrierPacket& packet, bool all) {
  Block block;
  for (const u64 signal : packet.dep_signal) {
    if (signal == 0) {
      continue;
    }
    if (!has_fallen(signal)) {
      block.blocked = true;
      block.signals[block.count++] = signal;
    } else if (!all) {
      return {};
    }
  }
  return block;
}

Block block_of(const abi::AqlPacket& packet) {
  switch (packet.word.header & abi::kHeaderTypeMask) {
    case abi::packet_barrier_and: return block_of(packet.barrier, true);
    case abi::packet_barrier_or: return block_of(packet.barrier, false);
    case abi::packet_vendor_specific:
      return {.blocked = packet.barrier_value.vendor_format == abi::vendor_barrier_value};
    default: return {};
  }
}

const abi::AqlPacket& packet_at(const TrackedQueue& queue, u64 index) {
  const auto* ring = static_cast<const abi::AqlPacket*>(queue.queue->base_address);
  return ring[index & (queue.queue->size - 1)];
}

u16 header_at(const TrackedQueue& queue, u64 index) {
  // Pairs with the release store of whoever writes the packet.
  return __atomic_load_n(&packet_at(queue, index).word.header, __ATOMIC_ACQUIRE);
}

// The first packet that is not used up. A program may reserve more places than the ring has.
u64 first_whole(const TrackedQueue& queue, u64 read, u64 written) {
  const u64 end = std::min(written, read + queue.queue->size);
  while (read < end && (header_at(queue, read) & abi::kHeaderTypeMask) == abi::packet_invalid) {
    read++;
  }
  return read;
}

// What the queue stands at. The read index moves on when a packet and all before it have completed.
Block block_of(const TrackedQueue& queue) {
  const u64 read = runtime.load_read_index(queue.queue);
  const u64 written = runtime.load_write_index(queue.queue);
  const u64 index = first_whole(queue, read, written);
  if (queue.gated || index >= written) {
    return {};
  }
  const u16 header = header_at(queue, index);
  abi::AqlPacket packet;
  memcpy(&packet, &packet_at(queue, index), sizeof packet);
  packet.word.header = header;
  Block block = block_of(packet);
  block.index = index;
  const bool is_there_still =
      runtime.load_read_index(queue.queue) == read && header_at(queue, index) == header;
  return is_there_still ? block : Block{};
}

// The packet that it stands at may be the one of the last look, of which more is known.
Before note(TrackedQueue& queue, const Block& block, u64 now) {
  if (!block.blocked) {
    queue.blocked_since_ns = 0;
    return {};
  }
  if (queue.blocked_since_ns == 0 || queue.blocked_index != block.index) {
    queue.blocked_since_ns = now;
    queue.blocked_index = block.index;
    queue.searched_ns = 0;
  }
  Before before{queue.blocked_since_ns, {}, queues.moves()};
  if (queue.searched_ns != 0 && now < queue.searched_ns + kMemoryNs &&
      queue.searched_moves == before.moves) {
    before.awaited = Awaited{queue.awaited, queue.all_awaited_known};
  }
  return before;
}

// Packets before the read index count, because they may be running still; that an old one names the
// same signal costs a start too many. What is waited for was mostly submitted last.
bool completes(const TrackedQueue& queue, u64 signal) {
  const u64 written = runtime.load_write_index(queue.queue);
  const u64 size = queue.queue->size;
  const u64 most = std::min({written, size, kMostPackets});
  for (u64 i = 1; i <= most; i++) {
    // All kinds of packets have their completion signal in the same place.
    const u64& completed = packet_at(queue, written - i).barrier.completion_signal;
    if (__atomic_load_n(&completed, __ATOMIC_RELAXED) == signal) {
      return true;
    }
  }
  return false;
}

// The parts with a packet that completes this signal. Others get the lock between two queues.
u32 parts_completing(u64 signal) {
  u32 parts = 0;
  for (u32 slot = 0;; slot++) {
    const Queues::Lock lock(queues);
    if (slot >= queues.slots()) {
      return parts;
    }
    const TrackedQueue& queue = queues.begin()[slot];
    const bool counts =
        queue.state == QueueState::live && !queue.gated && (parts & bit_of(queue.part)) == 0;
    if (counts && completes(queue, signal)) {
      parts |= bit_of(queue.part);
    }
  }
}

Awaited find_awaited(const Block& block) {
  Awaited awaited{0, block.count != 0};
  for (u32 i = 0; i < block.count; i++) {
    const u32 found = parts_completing(block.signals[i]);
    awaited.parts |= found;
    awaited.all_known = awaited.all_known && found != 0;
  }
  return awaited;
}

// It is not looked for again at once: that takes the longer the longer the rings are.
void remember(u32 slot, const Before& before, const Awaited& awaited, u64 now) {
  const Queues::Lock lock(queues);
  TrackedQueue& queue = queues.begin()[slot];
  if (queue.blocked_since_ns == before.since_ns) {
    queue.searched_ns = now;
    queue.searched_moves = before.moves;
    queue.awaited = awaited.parts;
    queue.all_awaited_known = awaited.all_known;
  }
}

struct Search {
  u64 now, patience_ns;

  // What the queue of this slot waits for, if it is of one of these parts.
  u32 awaited_by(u32 slot, u32 parts) const {
    Block block;
    Before before;
    {
      const Queues::Lock lock(queues);
      TrackedQueue& queue = queues.begin()[slot];
      if (queue.state != QueueState::live || (parts & bit_of(queue.part)) == 0) {
        return 0;
      }
      block = block_of(queue);
      before = note(queue, block, now);
    }
    if (!block.blocked) {
      return 0;
    }
    if (!before.awaited) {
      before.awaited = find_awaited(block);
      remember(slot, before, *before.awaited, now);
    }
    // Another thread may have seen it first after our look had begun.
    const bool is_patient = now < before.since_ns + patience_ns;
    return before.awaited->all_known || is_patient ? before.awaited->parts : kAnyPart;
  }

  u32 awaited_by_parts(u32 parts) const {
    u32 slots = 0, awaited = 0;
    {
      const Queues::Lock lock(queues);
      slots = queues.slots();
    }
    for (u32 slot = 0; slot < slots; slot++) {
      awaited |= awaited_by(slot, parts);
    }
    return awaited;
  }
};

u32 parts_with_queues() {
  const Queues::Lock lock(queues);
  return queues.parts();
}

}  // namespace

u32 WaitSearch::look(Part own, u64 patience_ns) {
  const Search search{monotonic_ns(), patience_ns};
  stuck_since_ns_ = stuck_since_ns_ != 0 ? stuck_since_ns_ : search.now;
  const u32 all = parts_with_queues();
  has_parts_ = all != bit_of(Part::rest);
  u32 reached = bit_of(own);
  for (u32 fresh = has_parts_ ? reached : 0; fresh != 0;) {
    fresh = search.awaited_by_parts(fresh) & all & ~reached;
    reached |= fresh;
  }
  waits_ = reached != bit_of(own);
  return reached & ~bit_of(own);
}

u32 WaitSearch::look_ms(u32 longest_ms) {
  if (!has_parts_) {
    has_parts_ = parts_with_queues() != bit_of(Part::rest);
  }
  if (!has_parts_) {
    return longest_ms;
  }
  const u64 stuck_ns = stuck_since_ns_ != 0 ? monotonic_ns() - stuck_since_ns_ : 0;
  const u64 half_ms = waits_ ? 0 : stuck_ns / 2'000'000;
  return static_cast<u32>(std::clamp<u64>(half_ms, 1, longest_ms));
}

}  // namespace gp::agent
