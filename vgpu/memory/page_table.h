// The GPU's page table of one process on one device: GPU virtual address -> host pointer.
//
// GPU memory of every kind lives in memfds that the server has mapped once, so a translation is
// an addition: host = va + delta. Two levels over the 47-bit user address space:
//
//   chunk (2 MiB) entry:  empty | leaf (the whole chunk lies in one buffer) | table of 512 pages
//   page  (4 KiB) entry:  empty | leaf
//
// A walk is one load for large buffers and two for small ones, so no TLB is needed. The chunk array
// is 512 MiB of address space, of which only touched pages cost memory.
//
// Threads: any number of readers, with no lock; writers (map, unmap) serialise among themselves.
// A reader that raced with unmap() may still use the old translation: whoever frees the memory
// must first wait until every worker has passed a check point (Gpu::quiesce).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "libc/types.h"

namespace vgpu {
using namespace gp;  // NOLINT(google-build-using-namespace): the integer names, everywhere in vgpu

constexpr u64 kPageSize = 4096;
constexpr u64 kChunkSize = 2u << 20;
constexpr int kVaBits = 47;

// Access rights, kept in the low bits of an entry.
enum PageFlags : u64 {
  page_valid = 1,
  page_leaf = 2,
  page_write = 4,
  page_exec = 8,
};

class PageTable {
 public:
  PageTable();
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  // Maps [va, va + size) to [host, host + size). All page aligned; an earlier mapping of the
  // range is replaced. flags: page_write, page_exec.
  void map(u64 va, u64 size, void* host, u64 flags);
  void unmap(u64 va, u64 size);

  // The host address of va, or null. The pointer is good up to the next page boundary.
  // `need` is 0 (read), page_write or page_exec. Always inlined, like lookup(): the executors are
  // compiled for newer CPUs, and the rest must not end up with their copy (engine_symbols.sh).
  [[gnu::always_inline]] u8* translate(u64 va, u64 need = 0) const {
    const u64 entry = lookup(va);
    if ((entry & (page_valid | need)) != (page_valid | need)) {
      return nullptr;
    }
    return reinterpret_cast<u8*>(va + (entry & ~(kPageSize - 1)));
  }

  // The raw leaf entry that covers va (0 if none): delta | PageFlags.
  [[gnu::always_inline]] u64 lookup(u64 va) const {
    if (va >> kVaBits) {
      return 0;
    }
    const u64 chunk = chunks_[va / kChunkSize].load(std::memory_order_acquire);
    if (chunk & page_leaf || chunk == 0) {
      return chunk;
    }
    const auto* table = reinterpret_cast<const std::atomic<u64>*>(chunk & ~u64{15});
    return table[va / kPageSize % kPagesPerChunk].load(std::memory_order_acquire);
  }

  // The same with the end of the leaf: the entry translates all of [va, end).
  struct Leaf {
    u64 entry, end;
  };
  [[gnu::always_inline]] Leaf leaf(u64 va) const {
    if (va >> kVaBits) {
      return {0, va};
    }
    const u64 chunk = chunks_[va / kChunkSize].load(std::memory_order_acquire);
    if (chunk & page_leaf || chunk == 0) {
      return {chunk, (va | (kChunkSize - 1)) + 1};
    }
    const auto* table = reinterpret_cast<const std::atomic<u64>*>(chunk & ~u64{15});
    return {table[va / kPageSize % kPagesPerChunk].load(std::memory_order_acquire),
            (va | (kPageSize - 1)) + 1};
  }

  // Copies that may cross pages; false if any byte is not mapped (nothing is rolled back).
  bool read(u64 va, void* out, u64 size) const;
  bool write(u64 va, const void* in, u64 size) const;

 private:
  static constexpr u64 kPagesPerChunk = kChunkSize / kPageSize;
  static constexpr u64 kChunks = (u64{1} << kVaBits) / kChunkSize;

  void set_range(u64 va, u64 size, u64 entry);
  std::atomic<u64>* split(u64 chunk_index);

  std::mutex write_mutex_;
  std::atomic<u64>* chunks_ = nullptr;
  std::vector<std::unique_ptr<std::atomic<u64>[]>> tables_;  // all page tables ever split off
};

}  // namespace vgpu
