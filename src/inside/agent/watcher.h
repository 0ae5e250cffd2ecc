// Whether a part of the process (model/part.h) has unfinished GPU work, kept in the page it shares
// with the daemon. There is a watcher for each part.
//
// Idle -> busy is seen in the program's own thread, before the doorbell of its first packet rings:
// one exchange and one write to an eventfd. While the page says busy, a ring costs a look-up, a
// fence and a load.
//
// Busy -> idle means that the last packet of every queue has *completed*; a packet that was read
// may run for hours. The packets of a program tell too little: a dispatch often has no completion
// signal, and a signal that it has is not ours to wait for, since HIP uses signals again and may
// destroy them. So the watcher, a thread, appends a packet of its own to each queue that has moved:
// a barrier-AND, whose signal falls when everything before it has completed (the marker). When the
// markers have completed and no queue has moved on, the process is idle. At most one marker is
// outstanding per queue, none is appended to a ring that is half full, and there are at least
// kMarkerSpacingNs between two.
//
// A queue with a single producer has no room for packets of others: it counts as done when its
// packets have been read.
#pragma once

#include <pthread.h>

#include <atomic>

#include "agent/queues.h"
#include "agent/waits.h"
#include "kfd/channel.h"
#include "wire/page.h"

namespace gp::agent {

class Watcher {
 public:
  constexpr explicit Watcher(Part part) : part_(part) {}

  Part part() const { return part_; }

  // `page` and `wake_fd` outlive the watcher's use.
  void prepare(const kfd::Channel& channel, wire::Page* page, int wake_fd);

  // Whether the daemon wants to know. Turning it on starts the thread and has it look at once.
  // 0 or -errno.
  int watch(bool on);
  bool watching() const { return watching_.load(std::memory_order_acquire); }
  // Whether anybody watches anything: asked at every store to a signal.
  static bool any_watching() { return watching_any_.load(std::memory_order_acquire) != 0; }
  // It has other queues than before: their work may be under way.
  void queues_moved() { wake(); }

  // Before a doorbell is rung. True: the process was idle, and submitted() must follow the ring.
  bool submitting() {
    // Pairs with the fence in go_idle(): either we see the page idle, or the watcher sees the
    // write index that the caller has already moved.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return page_->busy.load(std::memory_order_relaxed) == 0 && become_busy();
  }
  void submitted() { wake(); }

  // The queue of this slot has been destroyed: its marker will not complete any more.
  static void abandon_marker(TrackedQueue& queue);

  // Ends the thread.
  void stop();
  // Once all watchers have stopped; the runtime must still be there.
  static void destroy_markers();

  static constexpr u64 kMarkerSpacingNs = 200'000;
  static constexpr u32 kLookMs = 100;  // how often progress is counted during a long kernel

 private:
  static void* thread_main(void* self);
  void run();
  bool become_busy();
  void wake();
  void wait_for_work();
  bool settle();
  bool go_idle();
  void place_markers();
  bool place_marker(TrackedQueue& queue);
  bool wait_for_markers();
  void wait_for_signal(hsa_signal_t signal);
  void note_completed();
  void note_waits();
  void set_waits(u32 parts);
  void set_watching(bool on);
  bool all_done();
  void tell_daemon() const;

  static std::atomic<u32> watching_any_;  // parts that are watched

  Part part_;
  kfd::Channel channel_;
  wire::Page* page_ = nullptr;
  int wake_fd_ = -1;
  pid_t pid_ = 0;
  pthread_t thread_ = {};
  bool running_ = false;
  std::atomic<bool> watching_{false};
  std::atomic<bool> quit_{false};
  std::atomic<u32> work_{0};  // a futex: 1 when there is something to look at
  WaitSearch waits_;
};

extern Watcher watchers[kParts];
inline Watcher& watcher_of(Part part) { return watchers[index_of(part)]; }

}  // namespace gp::agent
