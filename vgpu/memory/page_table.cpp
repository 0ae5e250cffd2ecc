#include "memory/page_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace vgpu {

PageTable::PageTable() {
  void* space = mmap(nullptr, kChunks * sizeof(u64), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) {
    throw std::bad_alloc();
  }
  chunks_ = static_cast<std::atomic<u64>*>(space);
}

PageTable::~PageTable() { munmap(chunks_, kChunks * sizeof(u64)); }

void PageTable::map(u64 va, u64 size, void* host, u64 flags) {
  const u64 delta = reinterpret_cast<u64>(host) - va;
  set_range(va, size, delta | flags | page_valid | page_leaf);
}

void PageTable::unmap(u64 va, u64 size) { set_range(va, size, 0); }

void PageTable::set_range(u64 va, u64 size, u64 entry) {
  std::lock_guard lock(write_mutex_);
  const u64 end = va + size;
  while (va < end) {
    const u64 index = va / kChunkSize;
    const u64 chunk_end = (index + 1) * kChunkSize;
    const u64 chunk = chunks_[index].load(std::memory_order_relaxed);
    const bool is_table = chunk != 0 && !(chunk & page_leaf);
    if (va % kChunkSize == 0 && chunk_end <= end && !is_table) {
      chunks_[index].store(entry, std::memory_order_release);
      va = chunk_end;
      continue;
    }
    // A chunk that became a table stays one: a reader may be inside it.
    std::atomic<u64>* table = split(index);
    for (const u64 stop = std::min(end, chunk_end); va < stop; va += kPageSize) {
      table[va / kPageSize % kPagesPerChunk].store(entry, std::memory_order_release);
    }
  }
}

// The chunk's table of pages; one that translates as the chunk did is made if there is none.
std::atomic<u64>* PageTable::split(u64 chunk_index) {
  const u64 chunk = chunks_[chunk_index].load(std::memory_order_relaxed);
  if (chunk != 0 && !(chunk & page_leaf)) {
    return reinterpret_cast<std::atomic<u64>*>(chunk & ~u64{15});
  }
  auto owner = std::make_unique<std::atomic<u64>[]>(kPagesPerChunk);
  std::atomic<u64>* table = owner.get();
  for (u64 i = 0; i < kPagesPerChunk; ++i) {
    table[i].store(chunk, std::memory_order_relaxed);
  }
  tables_.push_back(std::move(owner));
  chunks_[chunk_index].store(reinterpret_cast<u64>(table) | page_valid, std::memory_order_release);
  return table;
}

bool PageTable::read(u64 va, void* out, u64 size) const {
  auto* to = static_cast<u8*>(out);
  while (size > 0) {
    const u8* from = translate(va);
    if (!from) {
      return false;
    }
    const u64 n = std::min(size, kPageSize - va % kPageSize);
    std::memcpy(to, from, n);
    to += n;
    va += n;
    size -= n;
  }
  return true;
}

bool PageTable::write(u64 va, const void* in, u64 size) const {
  const auto* from = static_cast<const u8*>(in);
  while (size > 0) {
    u8* to = translate(va, page_write);
    if (!to) {
      return false;
    }
    const u64 n = std::min(size, kPageSize - va % kPageSize);
    std::memcpy(to, from, n);
    from += n;
    va += n;
    size -= n;
  }
  return true;
}

}  // namespace vgpu
