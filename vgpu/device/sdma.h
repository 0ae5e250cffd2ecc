// A copy engine's ring, run for a while. Knows nothing of queues or locks: it works on a copy of
// the ring's registers, which the caller takes over afterwards.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "abi/sdma.h"
#include "memory/page_table.h"

namespace vgpu::device {

enum class SdmaOutcome : u8 {
  more,     // the slice is over, or attention was raised
  empty,    // everything up to the write pointer is done
  waiting,  // a POLL_REGMEM or a looping ATOMIC is not satisfied yet
  fault,    // a packet names memory that is not mapped
  bad_packet,
};

class SdmaRing {
 public:
  SdmaRing(const PageTable& memory, u64 ring_base, u32 ring_size, u64 rptr_addr)
      : memory_(&memory), ring_base_(ring_base), ring_size_(ring_size), rptr_addr_(rptr_addr) {}

  u64 read = 0, write = 0;  // byte counts; they grow without bound
  u64 done = 0;             // how far the packet at `read` was executed: bytes, or rows

  // After run():
  u64 bytes_moved = 0;
  u64 fault_va = 0;
  bool fault_write = false;
  u32 bad_header = 0;
  std::vector<u32> events;  // interrupt contexts (event ids) of TRAP packets

  // Executes packets until the slice is over.
  SdmaOutcome run(const std::atomic<u32>& attention);

 private:
  enum class Step : u8 { done, partial, waiting, fault, bad };
  Step execute(const u32* packet, u32 available, u32& dwords);
  Step copy_linear(const u32* packet);
  Step copy_rect(const u32* packet);
  Step const_fill(const u32* packet);
  Step write_linear(const u32* packet);
  Step poll_memory(const u32* packet);
  Step atomic(const u32* packet);
  template <class T>
  Step atomic_on(u64 va, u32 operation, T source, T compare, bool loop);
  template <class T>
  Step store(u64 va, T value);

  bool copy(u64 to, u64 from, u64 size);
  u32 ring_dword(u64 offset, bool& ok) const;
  u32 length(const u32* packet) const;  // dwords; 0: unknown
  Step fault(u64 va, bool write_access);

  const PageTable* memory_;
  u64 ring_base_;
  u32 ring_size_;
  u64 rptr_addr_;
};

}  // namespace vgpu::device
