// Pre-decoded code. One CodePage per 4 KiB of GPU code: an Inst slot per dword, all decoded when
// the page is first reached and immutable from then on, so that any number of threads may run from
// it. Dwords that are not the start of an instruction decode to something harmless nobody runs;
// what does not decode gets a handler that stops the wave with Stop::illegal.
//
// The cache belongs to one process on one device. Hardware keeps stale instructions until the
// caches are invalidated, and ROCr invalidates after each code upload (a PM4 ACQUIRE_MEM in a
// vendor packet); that, and any unmap, calls invalidate(). Waves hold pointers into pages, so
// invalidation is deferred: the generation moves on, and a wave picks up fresh pages when it next
// enters (Engine::run) or jumps to another page. Old pages are freed by collect(), which the
// device calls when no wave of the process is running.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "isa/wave.h"

namespace vgpu::isa {

struct CodePage {
  u64 va = 0;  // page aligned
  // One slot per dword, and two more: an instruction of two dwords may start in the last slot.
  // They hold a handler that goes on in the next page.
  Inst slots[kPageSize / 4 + 2];
};

class CodeCache {
 public:
  CodeCache(Arch arch, const Engine& engine, const PageTable& memory)
      : arch_(arch), engine_(engine), memory_(memory) {}

  // The page that holds pc; null if pc is not in executable memory. Thread-safe.
  CodePage* page(u64 pc);
  void invalidate();
  void collect();

  Arch arch() const { return arch_; }
  const Engine& engine() const { return engine_; }
  const PageTable& memory() const { return memory_; }

 private:
  Arch arch_;
  const Engine& engine_;
  const PageTable& memory_;
  std::mutex mutex_;
  std::unordered_map<u64, std::unique_ptr<CodePage>> pages_;
  std::vector<std::unique_ptr<CodePage>> retired_;
};

}  // namespace vgpu::isa
