// One queue with a gate. What the program submits goes on to the ring that the GPU reads at once;
// it is the GPU's command processor that holds it there, at barrier-AND packets of ours:
//
//   [gate barrier 0] packets ... [marker 0] [gate barrier 1] packets ... [marker 1] ...
//
// A gate barrier waits for its gate signal to be 0. A marker completes after everything in front of
// it and counts the queue's marker signal down by one. From gate barrier to marker it is a window.
// While the gate is open, windows have no gate barrier, and end only so that it stays known how
// much of the ring is free.
//
// Windows are counted from 0 on and never anew, over all the queues that a GatedQueue serves:
//
//   passed_ <= closed_ <= begun_ <= closed_ + 1    the last window may have no marker yet
//   passed_ <= released_ <= begun_                 gate signals are 0 before released_, 1 after
//
// A released window may be shut again: either the command processor is past its barrier, and the
// signal means nothing any more, or it is not, and will wait. A gate signal is used again only
// after the marker of its window has completed, and so has the barrier.
#pragma once

#include <pthread.h>

#include "abi/aql.h"
#include "agent/runtime.h"
#include "libc/types.h"

namespace gp::agent {

struct GateWindow {
  bool open = true;
  u32 packets = 0;  // 0: none passes
  u64 span_ns = 0;  // a window should take no longer than this; 0: only the number counts
};

// The caller holds `mutex` for every function below it. With it held, nothing of ROCr's is called
// but loads and stores of signals, which take no lock.
class GatedQueue {
 public:
  // Ours around the packets of one compose(): the end of a window, a gate barrier, an end again.
  static constexpr u32 kOurPackets = 3;

  hsa_queue_t* queue = nullptr;  // with the gate's mutex; null: serves none
  bool taken = false;            // with the gate's mutex
  hsa_agent_t agent = {0};       // whose queue it is
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

  bool has_signals() const { return marker_.handle != 0; }
  void adopt(hsa_signal_t marker, hsa_signal_t gate_signal);
  hsa_signal_t marker() const { return marker_; }

  void serve(u32 ring_packets);  // a new queue, which has no packets yet
  void set(const GateWindow& window);
  bool is_open() const { return window_.open; }
  // The ring takes so many packets and ours among them, or waiting will not help.
  bool has_room(u64 packets);
  // For a gate barrier that may come next, whether or not one is needed now: set() may come first.
  bool lacks_signal() const { return spares_ == 0 && signals_ < kMostWindows; }
  void add_signal(hsa_signal_t signal) { spare_[spares_++] = signal, signals_++; }
  // Writes what passes on now: these packets, which stay together, and ours. Returns how many.
  u32 compose(const abi::AqlPacket* packets, u64 count, abi::AqlPacket* batch);
  // Takes note of the markers that have completed, and releases the window whose turn it is.
  void advance();
  // True if the handler is to be armed now, for when the marker signal is below the value.
  bool arm(hsa_signal_value_t& below);
  void disarmed() { armed_ = false; }
  void retire();          // the queue is gone, and with it the packets held
  void forget_signals();  // the runtime that they belong to is shutting down

 private:
  // As many windows can be exact; then the last one grows until others have passed.
  static constexpr u32 kMostWindows = 1024;

  struct Window {
    hsa_signal_t signal;  // of the gate barrier; 0: it has none
    u64 first, end;       // in the ring, counted as written_ is
    u64 started_ns;       // when it was released, or begun if that was later
    u32 packets;          // the program's
    bool in_time;         // the program has filled it before its time was over
  };

  Window& at(u64 index) { return windows_[index % kMostWindows]; }
  Window& last() { return at(begun_ - 1); }
  bool is_full(const Window& window) const;
  bool is_over(const Window& window) const;
  void begin(abi::AqlPacket* batch, u32& used);
  void end(abi::AqlPacket* batch, u32& used);
  void release(u64 now_ns);
  void shape(const Window& window, u64 now_ns);

  GateWindow window_;
  u32 allowance_ = 0;   // packets of the next window, as window_.span_ns has shaped it
  bool cut_ = false;    // the last window is to get no more packets
  bool armed_ = false;  // the handler is going to be called
  u64 passed_ = 0, closed_ = 0, begun_ = 0, released_ = 0;
  u64 gated_end_ = 0;               // behind the last window with a gate barrier
  u64 written_ = 0, consumed_ = 0;  // packets of the ring that the GPU reads
  u32 ring_packets_ = 0;
  u32 signals_ = 0, spares_ = 0;  // of the gate: all, and those not in use
  hsa_signal_t marker_ = {0};
  // Set when first used: a page that is not needed stays untouched.
  hsa_signal_t spare_[kMostWindows];
  Window windows_[kMostWindows];
};

}  // namespace gp::agent
