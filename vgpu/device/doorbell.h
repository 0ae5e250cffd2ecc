// Doorbells. Each process has a page of 64-bit slots per device in a memfd that it and the server
// have both mapped; ringing is a plain store by the client.
//
// Nobody polls an idle page. A page is *cold*: write-protected by userfaultfd in the client's
// address space, so that the first store wakes the watcher; or *hot*: open, and looked at by the
// device's idle worker until nothing has been rung for a while. Where userfaultfd is not to be had
// the watcher looks at all pages, ever more rarely.
//
// A page that a store has opened stays open until that store has landed: the client's thread first
// has to get a CPU, and a page that were cold again by then would let it fault for ever.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "memory/page_table.h"

namespace vgpu::device {

// What a slot holds before its queue is rung for the first time: no index has this value.
constexpr u64 kNeverRung = ~u64{0};

// One process's doorbell slots on one device.
class DoorbellPage {
 public:
  // `slots` is the server's own mapping of `bytes` bytes; it must outlive the page object.
  DoorbellPage(std::atomic<u64>* slots, u64 bytes) : slots_(slots), bytes_(bytes) {}
  std::atomic<u64>& slot(u32 index) { return slots_[index]; }
  u32 slot_count() const { return static_cast<u32>(bytes_ / sizeof(u64)); }

  // Set by DoorbellWatch, before the page opens and after it has closed. True while the client can
  // store without a fault and the watcher does not look: the device has to.
  std::atomic<bool> hot{false};

 private:
  friend class DoorbellWatch;
  std::atomic<u64>* slots_;
  u64 bytes_;
};

struct Doorbell {
  std::shared_ptr<DoorbellPage> page;
  u32 slot = 0;
};

// Watches all pages of all devices with one thread.
class DoorbellWatch {
 public:
  DoorbellWatch();
  ~DoorbellWatch();

  // Called (from the watcher's thread) when a cold page was rung and has become hot. Returns a
  // number for remove_callback(), which waits for a call that is under way.
  u64 on_ring(std::function<void()> callback);
  void remove_callback(u64 number);

  void add(std::shared_ptr<DoorbellPage> page);
  void remove(const DoorbellPage& page);
  // A new queue has the slot: whatever is stored into it from now on is a ring, also the value that
  // was there before.
  void reset_slot(DoorbellPage& page, u32 slot);
  // The client mapped its page at client_va and registered it with this userfaultfd in
  // write-protect mode. From here on the page can become cold.
  void attach_userfaultfd(const std::shared_ptr<DoorbellPage>& page, UniqueFd uffd, u64 client_va);

  // The device has seen nothing rung for a while: let the pages of these doorbells become cold. The
  // caller must look at the slots once more afterwards: a store may have come just before. A page
  // stays hot for a store that is under way; the caller looks, and tries again, later.
  void cool_down(const std::vector<Doorbell>& doorbells);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace vgpu::device
