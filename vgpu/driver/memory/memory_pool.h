// All memory of the virtual GPUs: one sparse memfd, mapped once by the server, from which clients
// map their buffers (this is what mmap of a render node does). VRAM of each GPU and system memory
// (GTT, and the backing of user pointers) are regions of it.
//
// The regions are larger than the memory they stand for, so that fragmentation never fails an
// allocation; what can be had is decided by accounting, as amdgpu_amdkfd_reserve_mem_limit does.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "driver/memory/range_allocator.h"

namespace vgpu::driver {

class MemoryPool;

// Memory the GPU can be shown. Freed (and its pages given back) with the last reference: the
// allocating process, and those that imported it.
struct Buffer {
  Buffer() = default;
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  u8* host = nullptr;  // the server's view
  u64 size = 0;
  u64 offset = 0;  // what the client mmaps: in the memory file, or in the kfd file

  MemoryPool* pool = nullptr;         // accounts for it; null: nobody (doorbells, MMIO)
  int region = 0;                     // of pool
  bool adopted = false;               // a mapping of the client's own file
  std::shared_ptr<void> keeps_alive;  // the mapping behind doorbells and MMIO
};
using BufferPtr = std::shared_ptr<Buffer>;

class MemoryPool {
 public:
  static constexpr int kSystem = -1;  // region: GTT; 0.. are the GPUs' VRAM

  static Result<std::unique_ptr<MemoryPool>> create(u32 gpus, u64 vram_bytes);
  ~MemoryPool();

  int fd() const { return file_.get(); }
  bool contains(int fd) const;  // is this the memory file?

  // Zero-filled memory of `size` bytes (page aligned), or null: the region is full.
  BufferPtr allocate(int region, u64 size);

  // Memory the client keeps in a file of its own (registered host memory): mapped here, counted
  // as system memory. Null with errno: EINVAL if the file is too short or could shrink under the
  // server, ENOMEM.
  BufferPtr adopt(int fd, u64 file_offset, u64 size);

  u64 capacity(int region) const;
  u64 used(int region) const;
  // Fault injection: every further VRAM allocation fails.
  void set_vram_full(bool full);

 private:
  friend struct Buffer;
  struct Region {
    u64 capacity, used;
    RangeAllocator ranges;
  };
  MemoryPool() = default;
  // kSystem comes first.
  static std::size_t index_of(int region) { return static_cast<std::size_t>(region) + 1; }
  Region& at(int region) { return regions_[index_of(region)]; }
  const Region& at(int region) const { return regions_[index_of(region)]; }
  void release(const Buffer& buffer);

  UniqueFd file_;
  u8* base_ = nullptr;
  u64 bytes_ = 0;
  mutable std::mutex mutex_;
  std::vector<Region> regions_;  // [0] system, [1 + i] VRAM of GPU i
  bool vram_full_ = false;
};

}  // namespace vgpu::driver
