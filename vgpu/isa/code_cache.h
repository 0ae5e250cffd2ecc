// Pre-decoded code. One CodePage per 4 KiB of GPU code: an Inst slot per dword, all decoded when
// the page is first reached and immutable from then on, so that any number of threads may run from
// it. Dwords that are not the start of an instruction decode to something harmless nobody runs;
// what does not decode gets a handler that stops the wave with Stop::illegal.
//
// The cache belongs to one process on one device. Hardware keeps stale instructions until the
// caches are invalidated, and ROCr invalidates after each code upload (a PM4 ACQUIRE_MEM in a
// vendor packet); that, and any unmap, calls invalidate(). Waves hold pointers into pages, so
// invalidation is deferred: pages are retired, and a wave picks up fresh ones when it next enters
// (Engine::run) or jumps to another page. Retired pages are freed by collect(), which the device
// calls when no wave of the process is running.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "isa/wave.h"

namespace vgpu::isa {

struct CodePage {
  u64 va = 0;  // page aligned
  // One slot per dword, and two more: the last instruction ends at slot 1024, or at 1025 if it
  // starts in the last slot and has two dwords. They hold a handler that goes on in the next page.
  // Every slot has an op; those without an instruction have kNoInstruction.
  Inst slots[kPageSize / 4 + 2];
};

class CodeCache {
 public:
  CodeCache(Arch arch, const Engine& engine, const PageTable& memory)
      : arch_(arch), engine_(engine), memory_(memory) {}

  // The page that holds pc; null if pc is not in executable memory. Any thread.
  CodePage* page(u64 pc) {
    const u64 va = pc & ~(kPageSize - 1);
    // Pairs with the release store in slow_page(): the page is complete when it can be seen.
    CodePage* recent = recent_[va / kPageSize % kRecent].load(std::memory_order_acquire);
    return recent != nullptr && recent->va == va ? recent : slow_page(va);
  }
  void invalidate();
  void collect();

  Arch arch() const { return arch_; }
  const Engine& engine() const { return engine_; }
  const PageTable& memory() const { return memory_; }

 private:
  static constexpr u64 kRecent = 1024;

  CodePage* slow_page(u64 va);
  std::unique_ptr<CodePage> decode_page(u64 va) const;
  Inst decode_slot(const u32* words, int available) const;

  Arch arch_;
  const Engine& engine_;
  const PageTable& memory_;
  // A way around the lock for jumps between pages: direct-mapped by page number.
  std::array<std::atomic<CodePage*>, kRecent> recent_ = {};
  std::mutex mutex_;
  std::unordered_map<u64, std::unique_ptr<CodePage>> pages_;
  std::vector<std::unique_ptr<CodePage>> retired_;
};

}  // namespace vgpu::isa
