// Atomic access to memory that the program on the host side reads and writes at the same time:
// packet headers, signals, ring pointers. Such words are naturally aligned, so that they lie
// within a page.
#pragma once

#include "memory/page_table.h"

namespace vgpu::device {

// A word of GPU memory at va; null if it is not mapped (or misaligned).
template <class T>
T* guest_word(const PageTable& memory, u64 va, u64 need = 0) {
  return va % sizeof(T) ? nullptr : reinterpret_cast<T*>(memory.translate(va, need));
}

// Pairs with the release store or atomic of the host that published the word.
template <class T>
T load_acquire(const T* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
// Pairs with the acquire load of the host that waits for the word.
template <class T>
void store_release(T* word, T value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

}  // namespace vgpu::device
