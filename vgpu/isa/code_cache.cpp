#include "isa/code_cache.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "isa/decode.h"

namespace vgpu::isa {
namespace {

constexpr int kPageWords = kPageSize / 4;

// The op of slots that hold no instruction, so that Inst::op is never null. No table row has
// this format.
constexpr OpInfo kNoInstruction = {Op::count, Format::exp, 0,  "no instruction",
                                   0,         Type::none,  {}, 0};

void stop_illegal(Wave& wave, const Inst& inst, const char* reason) {
  wave.fault.pc = wave.pc_of(inst);
  wave.fault.reason = reason;
  wave.stop_with(Stop::illegal);
}

// Decoded, but the engine has no executor for it.
void run_unimplemented(Wave& wave, const Inst& inst) { stop_illegal(wave, inst, inst.op->name); }

// Not an instruction: Inst::ext holds its first dword.
void run_unknown(Wave& wave, const Inst& inst) {
  // The reason is read by the thread that ran the wave, before it runs another.
  thread_local char reason[48];
  std::snprintf(reason, sizeof(reason), "%s encoding 0x%08x", encoding_kind(inst.ext), inst.ext);
  stop_illegal(wave, inst, reason);
}

// The slots behind a page.
void run_next_page(Wave& wave, const Inst& inst) { wave.jump(wave.pc_of(inst)); }

// An instruction whose second dword is in a page that cannot be executed: fetching it faults.
void run_cut_off(Wave& wave, const Inst& inst) {
  const u64 pc = wave.pc_of(inst);
  wave.jump(pc + 4);
  wave.fault.pc = pc;
}

}  // namespace

Inst CodeCache::decode_slot(const u32* words, int available) const {
  Inst inst;
  if (decode(arch_, words, available, inst)) {
    inst.exec = engine_.handler(inst);
    if (inst.exec == nullptr) {
      inst.exec = run_unimplemented;
    }
    return inst;
  }
  const bool cut_off = inst.op != nullptr && inst.len > available;
  inst = Inst{};
  inst.op = &kNoInstruction;
  inst.ext = words[0];
  inst.exec = cut_off ? run_cut_off : run_unknown;
  return inst;
}

std::unique_ptr<CodePage> CodeCache::decode_page(u64 va) const {
  const u8* here = memory_.translate(va, page_exec);
  if (here == nullptr) {
    return nullptr;
  }
  u32 words[kPageWords + 1];
  std::memcpy(words, here, kPageSize);
  const u8* next = memory_.translate(va + kPageSize, page_exec);
  if (next != nullptr) {
    std::memcpy(&words[kPageWords], next, 4);
  }
  const int available = kPageWords + (next != nullptr ? 1 : 0);

  auto page = std::make_unique<CodePage>();
  page->va = va;
  for (int i = 0; i < kPageWords; ++i) {
    page->slots[i] = decode_slot(&words[i], std::min(available - i, kMaxInstWords));
  }
  for (int i = kPageWords; i < kPageWords + 2; ++i) {
    page->slots[i].op = &kNoInstruction;
    page->slots[i].exec = run_next_page;
  }
  return page;
}

CodePage* CodeCache::slow_page(u64 va) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<CodePage>& page = pages_[va];
  if (page == nullptr) {
    page = decode_page(va);
  }
  if (page == nullptr) {
    pages_.erase(va);
    return nullptr;
  }
  // Pairs with the acquire load in page().
  recent_[va / kPageSize % kRecent].store(page.get(), std::memory_order_release);
  return page.get();
}

void CodeCache::invalidate() {
  const std::lock_guard lock(mutex_);
  for (std::atomic<CodePage*>& entry : recent_) {
    entry.store(nullptr, std::memory_order_relaxed);
  }
  for (auto& [va, page] : pages_) {
    retired_.push_back(std::move(page));
  }
  pages_.clear();
}

void CodeCache::collect() {
  const std::lock_guard lock(mutex_);
  retired_.clear();
}

}  // namespace vgpu::isa
