// Hands out ranges of a number line: offsets in the memory file. First fit; neighbours that become
// free are joined. Not thread-safe.
#pragma once

#include <map>
#include <optional>

#include "memory/page_table.h"

namespace vgpu::driver {

class RangeAllocator {
 public:
  RangeAllocator(u64 begin, u64 end) { free_[begin] = end - begin; }

  // The start of a free range of `size`, a multiple of `align` (a power of two).
  std::optional<u64> allocate(u64 size, u64 align);
  // [start, start + size) must have been allocated.
  void release(u64 start, u64 size);

 private:
  std::map<u64, u64> free_;  // start -> size
};

}  // namespace vgpu::driver
