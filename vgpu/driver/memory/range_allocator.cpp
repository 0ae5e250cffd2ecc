#include "driver/memory/range_allocator.h"

#include <iterator>

namespace vgpu::driver {

std::optional<u64> RangeAllocator::allocate(u64 size, u64 align) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const u64 begin = it->first;
    const u64 end = begin + it->second;
    const u64 start = (begin + align - 1) & ~(align - 1);
    if (start >= end || end - start < size) {
      continue;
    }
    free_.erase(it);
    if (start > begin) {
      free_[begin] = start - begin;
    }
    if (start + size < end) {
      free_[start + size] = end - start - size;
    }
    return start;
  }
  return std::nullopt;
}

void RangeAllocator::release(u64 start, u64 size) {
  auto next = free_.lower_bound(start);
  if (next != free_.end() && start + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == start) {
      before->second += size;
      return;
    }
  }
  free_[start] = size;
}

}  // namespace vgpu::driver
