#include "agent/gated_queue.h"

#include <string.h>

#include "libc/clock.h"

namespace gp::agent {

namespace {

// Packets of a window that is shut: how exactly a later window by number can count them.
constexpr u32 kShutGrain = 64;
// The marker signal begins here, and every completed marker takes one off.
constexpr hsa_signal_value_t kMarkerOrigin = hsa_signal_value_t{1} << 62;

// With the barrier bit a packet also waits for the completion of all those in front of it.
abi::BarrierPacket& put_barrier(abi::AqlPacket& packet, bool waits_for_completion) {
  memset(&packet, 0, sizeof packet);
  packet.word.header =
      abi::packet_barrier_and | (waits_for_completion ? abi::kHeaderBarrierBit : u16{0});
  return packet.barrier;
}

}  // namespace

void GatedQueue::adopt(hsa_signal_t marker, hsa_signal_t gate_signal) {
  marker_ = marker;
  runtime.store_screlease(marker_, kMarkerOrigin - static_cast<hsa_signal_value_t>(passed_));
  add_signal(gate_signal);
}

void GatedQueue::serve(u32 ring_packets) {
  ring_packets_ = ring_packets;
  written_ = consumed_ = 0;
  cut_ = false;
}

// Whatever the last window holds may be running from here on, if it was released before; what
// comes next must not go the same way.
void GatedQueue::set(const GateWindow& window) {
  window_ = window;
  allowance_ = window.packets;
  cut_ = cut_ || !window.open;
  advance();
}

// ROCr must not find the ring full: what it then puts aside can be overtaken by the next packets
// (intercept_queue.cpp, StoreRelaxed goes on after Submit has failed). An eighth of the ring stays
// free, since a packet may be reported complete before its place is.
bool GatedQueue::has_room(u64 packets) {
  const u64 free_end = ring_packets_ - ring_packets_ / 8;
  const auto fits = [&] { return written_ + packets + kOurPackets <= consumed_ + free_end; };
  if (!fits()) {
    advance();
  }
  return fits() || closed_ == passed_;
}

// At a quarter of the ring a window ends in any case: only where one ends, it is seen how far the
// GPU is.
bool GatedQueue::is_full(const Window& window) const {
  const u32 most = window_.open ? ~0u : window_.packets == 0 ? kShutGrain : allowance_;
  return window.packets >= most || written_ - window.first >= ring_packets_ / 4;
}

bool GatedQueue::is_over(const Window& window) const {
  return !window_.open && window_.span_ns > 0 && begun_ == released_ &&
         monotonic_ns() - window.started_ns > window_.span_ns;
}

u32 GatedQueue::compose(const abi::AqlPacket* packets, u64 count, abi::AqlPacket* batch) {
  u32 used = 0;
  // A window ends only if there is a place for the next one.
  const auto may_end = [&] { return begun_ != closed_ && begun_ - passed_ < kMostWindows; };
  if (may_end() && (cut_ || is_full(last()) || is_over(last()))) {
    end(batch, used);
  }
  if (begun_ == closed_) {
    begin(batch, used);
  }
  memcpy(batch + used, packets, count * sizeof *packets);
  used += static_cast<u32>(count);
  written_ += count;
  last().packets += static_cast<u32>(count);
  if (may_end() && is_full(last())) {
    last().in_time = true;
    end(batch, used);
  }
  return used;
}

// If there is no spare signal, all of them are in the ring, in front of this window, which then is
// as a part of the last of theirs.
void GatedQueue::begin(abi::AqlPacket* batch, u32& used) {
  Window& window = at(begun_++);
  window = {};
  window.first = written_;
  window.started_ns = monotonic_ns();
  cut_ = false;
  if (!window_.open && spares_ > 0) {
    window.signal = spare_[--spares_];
    runtime.store_screlease(window.signal, 1);
    put_barrier(batch[used++], false).dep_signal[0] = window.signal.handle;
    written_++;
    gated_end_ = begun_;
  }
  release(window.started_ns);
}

// While the gate is open no window waits for this one to complete, and so its marker need not.
void GatedQueue::end(abi::AqlPacket* batch, u32& used) {
  const bool awaited = !window_.open || last().signal.handle != 0;
  put_barrier(batch[used++], awaited).completion_signal = marker_.handle;
  written_++;
  last().end = written_;
  closed_++;
}

void GatedQueue::advance() {
  if (marker_.handle == 0) {
    return;
  }
  const u64 now_ns = monotonic_ns();
  const auto passed = static_cast<u64>(kMarkerOrigin - runtime.signal_load(marker_));
  for (; passed_ < passed; passed_++) {
    Window& window = at(passed_);
    consumed_ = window.end;
    if (window.signal.handle != 0) {
      spare_[spares_++] = window.signal;
      window.signal.handle = 0;
      shape(window, now_ns);
    }
  }
  released_ = released_ < passed_ ? passed_ : released_;
  release(now_ns);
}

void GatedQueue::release(u64 now_ns) {
  const u64 turn = window_.packets > 0 ? passed_ + 1 : passed_;
  const u64 wanted = window_.open || turn > begun_ ? begun_ : turn;
  const auto store = [&](Window& window, hsa_signal_value_t value) {
    if (window.signal.handle != 0) {
      runtime.store_screlease(window.signal, value);
    }
  };
  for (; released_ < wanted; released_++) {
    at(released_).started_ns = now_ns;
    store(at(released_), 0);
  }
  for (; released_ > wanted; released_--) {
    store(at(released_ - 1), 1);
  }
}

// What fitted into the time says what the next window may hold.
void GatedQueue::shape(const Window& window, u64 now_ns) {
  if (window_.packets == 0 || window_.span_ns == 0 || !window.in_time) {
    return;
  }
  const u64 took_ns = now_ns - window.started_ns;
  const u64 fitting = window.packets * window_.span_ns / (took_ns == 0 ? 1 : took_ns);
  const u64 wanted = fitting == 0 ? 1 : fitting;
  allowance_ = static_cast<u32>(wanted < window_.packets ? wanted : window_.packets);
}

// As long as a gate barrier is in the ring, every marker up to it is waited for, also while the
// gate is open: it may be shut again at any moment, and then a window must find its successor.
bool GatedQueue::arm(hsa_signal_value_t& below) {
  if (armed_ || gated_end_ <= passed_ || closed_ <= passed_) {
    return false;
  }
  armed_ = true;
  below = kMarkerOrigin - static_cast<hsa_signal_value_t>(passed_);
  return true;
}

// The store also brings the handler if it is armed. It does not matter when it comes.
void GatedQueue::retire() {
  closed_ = begun_;
  runtime.store_screlease(marker_, kMarkerOrigin - static_cast<hsa_signal_value_t>(closed_));
  advance();
}

void GatedQueue::forget_signals() {
  passed_ = closed_ = released_ = begun_;
  marker_.handle = 0;
  signals_ = spares_ = 0;
  armed_ = false;
}

}  // namespace gp::agent
