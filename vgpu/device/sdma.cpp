#include "device/sdma.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "device/clock.h"
#include "device/guest_memory.h"

namespace vgpu::device {
namespace {

constexpr u64 kSliceBytes = 1 << 20;   // about 100 us of copying
constexpr u64 kChunkBytes = 64 << 10;  // between two looks at attention
constexpr u32 kSlicePackets = 256;
constexpr u32 kPacketOverhead = 64;  // what a small packet counts towards the slice

constexpr u64 address(const u32* dwords) { return dwords[0] | u64{dwords[1]} << 32; }

bool poll_satisfied(u32 function, u32 value, u32 reference) {
  switch (function) {
    case abi::sdma_poll_always: return true;
    case abi::sdma_poll_lt: return value < reference;
    case abi::sdma_poll_le: return value <= reference;
    case abi::sdma_poll_eq: return value == reference;
    case abi::sdma_poll_ne: return value != reference;
    case abi::sdma_poll_ge: return value >= reference;
    case abi::sdma_poll_gt: return value > reference;
    default: return false;
  }
}

}  // namespace

SdmaRing::Step SdmaRing::fault(u64 va, bool write_access) {
  fault_va = va;
  fault_write = write_access;
  return Step::fault;
}

u32 SdmaRing::ring_dword(u64 offset, bool& ok) const {
  const auto* word = guest_word<u32>(*memory_, ring_base_ + offset % ring_size_);
  ok = ok && word;
  return word ? load_acquire(word) : 0;
}

SdmaOutcome SdmaRing::run(const std::atomic<u32>& attention) {
  u64 spent = 0;
  for (u32 packets = 0; read != write; ++packets) {
    if (spent >= kSliceBytes || packets >= kSlicePackets || !events.empty() ||
        attention.load(std::memory_order_relaxed) != 0) {
      return SdmaOutcome::more;
    }
    std::array<u32, abi::kSdmaMaxDwords> packet{};
    const u32 available = static_cast<u32>(std::min<u64>((write - read) / 4, packet.size()));
    bool mapped = true;
    for (u32 i = 0; i < available; ++i) {
      packet[i] = ring_dword(read + i * 4, mapped);
    }
    if (!mapped) {
      fault(ring_base_ + read % ring_size_, false);
      return SdmaOutcome::fault;
    }
    const u64 moved = bytes_moved;
    u32 dwords = 0;
    const Step step = execute(packet.data(), available, dwords);
    spent += bytes_moved - moved + kPacketOverhead;
    switch (step) {
      case Step::done: break;
      case Step::partial: continue;
      case Step::waiting: return SdmaOutcome::waiting;
      case Step::fault: return SdmaOutcome::fault;
      case Step::bad: bad_header = packet[0]; return SdmaOutcome::bad_packet;
    }
    done = 0;
    read += u64{dwords} * 4;
    // Pairs with the acquire load of the producer that waits for room in the ring.
    auto* read_pointer = guest_word<u64>(*memory_, rptr_addr_, page_write);
    if (!read_pointer) {
      fault(rptr_addr_, true);
      return SdmaOutcome::fault;
    }
    store_release(read_pointer, read);
  }
  return SdmaOutcome::empty;
}

u32 SdmaRing::length(const u32* packet) const {
  const u32 sub = abi::sdma_sub_op(packet[0]);
  switch (abi::sdma_op(packet[0])) {
    case abi::sdma_nop: return 1 + (packet[0] >> 16 & 0x3fff);
    case abi::sdma_copy:
      return sub == abi::sdma_copy_linear        ? abi::kSdmaCopyLinearDwords
             : sub == abi::sdma_copy_linear_rect ? abi::kSdmaCopyRectDwords
                                                 : 0;
    case abi::sdma_write: return sub == abi::sdma_write_linear ? 4 + (packet[3] & 0xfffff) + 1 : 0;
    case abi::sdma_fence: return abi::kSdmaFenceDwords;
    case abi::sdma_trap: return abi::kSdmaTrapDwords;
    case abi::sdma_poll_regmem: return abi::kSdmaPollDwords;
    case abi::sdma_atomic: return abi::kSdmaAtomicDwords;
    case abi::sdma_const_fill: return abi::kSdmaFillDwords;
    case abi::sdma_timestamp:
      return sub <= abi::sdma_timestamp_get_global ? abi::kSdmaTimestampDwords : 0;
    case abi::sdma_gcr: return abi::kSdmaGcrDwords;
    default: return 0;
  }
}

SdmaRing::Step SdmaRing::execute(const u32* packet, u32 available, u32& dwords) {
  dwords = available == 0 ? 0 : length(packet);
  if (dwords == 0 || dwords * u64{4} > write - read) {
    return Step::bad;  // unknown, or the write pointer is in the middle of it
  }
  switch (abi::sdma_op(packet[0])) {
    case abi::sdma_copy:
      return abi::sdma_sub_op(packet[0]) == abi::sdma_copy_linear ? copy_linear(packet)
                                                                  : copy_rect(packet);
    case abi::sdma_write: return write_linear(packet);
    case abi::sdma_fence: return store<u32>(address(packet + 1), packet[3]);
    case abi::sdma_trap: events.push_back(packet[1] & 0xfffffff); return Step::done;
    case abi::sdma_poll_regmem: return poll_memory(packet);
    case abi::sdma_atomic: return atomic(packet);
    case abi::sdma_const_fill: return const_fill(packet);
    case abi::sdma_timestamp:
      return abi::sdma_sub_op(packet[0]) == abi::sdma_timestamp_set
                 ? Step::bad  // sets the engine's own clock: there is only one
                 : store<u64>(address(packet + 1), gpu_clock());
    default: return Step::done;  // NOP and GCR: there are no caches to flush
  }
}

bool SdmaRing::copy(u64 to, u64 from, u64 size) {
  while (size > 0) {
    const u8* source = memory_->translate(from);
    if (!source) {
      fault(from, false);
      return false;
    }
    u8* target = memory_->translate(to, page_write);
    if (!target) {
      fault(to, true);
      return false;
    }
    const u64 n = std::min({size, kPageSize - from % kPageSize, kPageSize - to % kPageSize});
    std::memmove(target, source, n);
    to += n;
    from += n;
    size -= n;
    bytes_moved += n;
  }
  return true;
}

SdmaRing::Step SdmaRing::copy_linear(const u32* packet) {
  const u64 total = u64{packet[1] & 0x3fffffff} + 1;
  const u64 n = std::min(total - done, kChunkBytes);
  if (!copy(address(packet + 5) + done, address(packet + 3) + done, n)) {
    return Step::fault;
  }
  done += n;
  return done == total ? Step::done : Step::partial;
}

// SDMA_PKT_COPY_LINEAR_RECT: a box of elements of 1 << element bytes, done row by row.
SdmaRing::Step SdmaRing::copy_rect(const u32* packet) {
  const u32 element = packet[0] >> 29;
  struct Side {
    u64 base, x, y, z, pitch, slice;
    u64 row(u64 row_y, u64 row_z, u32 shift) const {
      return base + (((z + row_z) * slice + (y + row_y) * pitch + x) << shift);
    }
  };
  const auto side = [&](const u32* p) {
    return Side{address(p),    p[2] & 0x3fffu,    p[2] >> 16 & 0x3fffu,
                p[3] & 0x7ffu, (p[3] >> 13) + 1u, (p[4] & 0xfffffffu) + 1u};
  };
  const Side from = side(packet + 1);
  const Side to = side(packet + 6);
  const u64 width = u64{(packet[11] & 0x3fff) + 1} << element;
  const u64 height = (packet[11] >> 16 & 0x3fff) + 1;
  const u64 depth = (packet[12] & 0x7ff) + 1;
  for (u64 moved = 0; moved < kChunkBytes && done < height * depth; ++done, moved += width) {
    const u64 y = done % height;
    const u64 z = done / height;
    if (!copy(to.row(y, z, element), from.row(y, z, element), width)) {
      return Step::fault;
    }
  }
  return done == height * depth ? Step::done : Step::partial;
}

SdmaRing::Step SdmaRing::const_fill(const u32* packet) {
  const u32 size_log2 = packet[0] >> 30;  // 0: bytes, 2: dwords
  const u64 unit = u64{1} << size_log2;
  if (size_log2 == 3) {
    return Step::bad;
  }
  const u64 total = (u64{packet[4] & 0x3fffffff} / unit + 1) * unit;
  std::array<u8, 4096> pattern;
  for (u64 i = 0; i < pattern.size(); ++i) {
    pattern[i] = static_cast<u8>(packet[3] >> i % unit * 8);
  }
  for (u64 chunk = 0; chunk < kChunkBytes && done < total;) {
    const u64 n = std::min<u64>(total - done, pattern.size());
    const u64 va = address(packet + 1) + done;
    if (!memory_->write(va, pattern.data(), n)) {
      return fault(va, true);
    }
    done += n;
    chunk += n;
    bytes_moved += n;
  }
  return done == total ? Step::done : Step::partial;
}

// The data follows the packet in the ring, and may be longer than what was fetched.
SdmaRing::Step SdmaRing::write_linear(const u32* packet) {
  const u32 count = (packet[3] & 0xfffff) + 1;
  for (u32 i = 0; i < count; ++i) {
    bool mapped = true;
    const u32 value = ring_dword(read + (4 + i) * u64{4}, mapped);
    if (!mapped) {
      return fault(ring_base_, false);
    }
    if (store<u32>(address(packet + 1) + i * u64{4}, value) != Step::done) {
      return Step::fault;
    }
  }
  bytes_moved += count * u64{4};
  return Step::done;
}

template <class T>
SdmaRing::Step SdmaRing::store(u64 va, T value) {
  auto* word = guest_word<T>(*memory_, va, page_write);
  if (!word) {
    return fault(va, true);
  }
  store_release(word, value);
  return Step::done;
}

// Polling a register is how HDP is flushed: nothing to do here, and nothing else is known.
SdmaRing::Step SdmaRing::poll_memory(const u32* packet) {
  const u32 function = packet[0] >> 28 & 7;
  if (!(packet[0] & abi::kSdmaPollMemory)) {
    const bool hdp_flush = packet[0] >> 26 & 1 || function == abi::sdma_poll_always;
    return hdp_flush ? Step::done : Step::bad;
  }
  const u64 va = address(packet + 1);
  const auto* word = guest_word<u32>(*memory_, va);
  if (!word) {
    return fault(va, false);
  }
  return poll_satisfied(function, load_acquire(word) & packet[4], packet[3]) ? Step::done
                                                                             : Step::waiting;
}

SdmaRing::Step SdmaRing::atomic(const u32* packet) {
  const u32 operation = packet[0] >> 25;
  const bool loop = packet[0] >> 16 & 1;
  const u64 va = address(packet + 1);
  if (operation >= abi::sdma_atomic_swap64) {
    return atomic_on<u64>(va, operation - (abi::sdma_atomic_swap64 - abi::sdma_atomic_swap32),
                          address(packet + 3), address(packet + 5), loop);
  }
  return atomic_on<u32>(va, operation, packet[3], packet[5], loop);
}

// `operation` is the 32-bit form's number.
template <class T>
SdmaRing::Step SdmaRing::atomic_on(u64 va, u32 operation, T source, T compare, bool loop) {
  auto* word = guest_word<T>(*memory_, va, page_write);
  if (!word) {
    return fault(va, true);
  }
  switch (operation) {
    case abi::sdma_atomic_swap32: __atomic_exchange_n(word, source, __ATOMIC_ACQ_REL); break;
    case abi::sdma_atomic_cmpswap32:
      if (!__atomic_compare_exchange_n(word, &compare, source, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE) &&
          loop) {
        return Step::waiting;
      }
      break;
    case abi::sdma_atomic_add32: __atomic_fetch_add(word, source, __ATOMIC_ACQ_REL); break;
    case abi::sdma_atomic_sub32: __atomic_fetch_sub(word, source, __ATOMIC_ACQ_REL); break;
    case abi::sdma_atomic_and32: __atomic_fetch_and(word, source, __ATOMIC_ACQ_REL); break;
    case abi::sdma_atomic_or32: __atomic_fetch_or(word, source, __ATOMIC_ACQ_REL); break;
    case abi::sdma_atomic_xor32: __atomic_fetch_xor(word, source, __ATOMIC_ACQ_REL); break;
    default: return Step::bad;
  }
  return Step::done;
}

}  // namespace vgpu::device
