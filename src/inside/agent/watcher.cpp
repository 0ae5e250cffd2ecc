#include "agent/watcher.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/aql.h"
#include "agent/gate.h"
#include "agent/thread.h"
#include "kfd/calls.h"
#include "libc/clock.h"
#include "libc/eventfd.h"

namespace gp::agent {

constinit Watcher watchers[kParts] = {Watcher(Part::rest), Watcher(Part::offline),
                                      Watcher(Part::normal), Watcher(Part::online)};
constinit std::atomic<u32> Watcher::watching_any_{0};

namespace {

constexpr u16 kMarkerHeader = abi::packet_barrier_and | abi::kHeaderBarrierBit;  // no fences

void nap(u64 nanoseconds) {
  const timespec span = {0, static_cast<long>(nanoseconds)};
  nanosleep(&span, nullptr);
}

bool is_done(const TrackedQueue& queue) {
  const u64 written = runtime.load_write_index(queue.queue);
  if (queue.many_producers) {
    return !queue.marker_out && written == queue.done_through;
  }
  return runtime.load_read_index(queue.queue) >= written;
}

}  // namespace

void Watcher::prepare(const kfd::Channel& channel, wire::Page* page, int wake_fd) {
  channel_ = channel;
  page_ = page;
  wake_fd_ = wake_fd;
  pid_ = getpid();
}

int Watcher::watch(bool on) {
  if (on && !running_) {
    quit_.store(false);
    if (const int error = start_thread(&thread_, thread_main, this)) {
      return error;
    }
    running_ = true;
  }
  set_watching(on);
  if (on) {
    wake();
  } else if (page_ != nullptr) {
    page_->busy.store(0, std::memory_order_seq_cst);
  }
  return 0;
}

void Watcher::set_watching(bool on) {
  watching_.store(on, std::memory_order_release);
  if (on) {
    watching_any_.fetch_or(bit_of(part_), std::memory_order_release);
  } else {
    watching_any_.fetch_and(~bit_of(part_), std::memory_order_release);
  }
}

bool Watcher::become_busy() {
  // A process made by clone() without our fork handler shares the page with its parent.
  if (getpid() != pid_ || page_->busy.exchange(1, std::memory_order_seq_cst) != 0) {
    return false;
  }
  page_->busy_since_ns.store(monotonic_ns(), std::memory_order_relaxed);
  page_->bursts.fetch_add(1, std::memory_order_release);
  tell_daemon();
  return true;
}

void Watcher::tell_daemon() const { signal_event(wake_fd_); }

void Watcher::wake() {
  work_.store(1, std::memory_order_release);
  syscall(SYS_futex, &work_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Watcher::wait_for_work() {
  while (work_.exchange(0, std::memory_order_acquire) == 0) {
    syscall(SYS_futex, &work_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
}

void* Watcher::thread_main(void* self) {
  static_cast<Watcher*>(self)->run();
  return nullptr;
}

void Watcher::run() {
  while (!quit_.load(std::memory_order_acquire)) {
    wait_for_work();
    // Work has just begun, and others are needed more at this moment: those who make room for it. A
    // marker now would also be too early for a burst of several packets.
    nap(kMarkerSpacingNs);
    while (!quit_.load(std::memory_order_acquire) && watching() && !settle()) {
      nap(kMarkerSpacingNs);
    }
  }
}

// One round. True: nothing is left to be done until the next doorbell.
bool Watcher::settle() {
  if (page_->busy.load(std::memory_order_acquire) == 0) {
    if (all_done()) {
      return true;
    }
    become_busy();  // work from before we were asked to watch
  }
  place_markers();
  while (!wait_for_markers()) {
    note_completed();
    note_waits();
    if (quit_.load(std::memory_order_acquire) || !watching()) {
      return true;
    }
    if (page_->busy.load(std::memory_order_acquire) == 0) {
      become_busy();  // another daemon asks: it has to hear of the work that is under way
    }
  }
  note_completed();
  if (!all_done()) {
    note_waits();
    return false;
  }
  return go_idle();
}

bool Watcher::go_idle() {
  set_waits(0);
  page_->idle_since_ns.store(monotonic_ns(), std::memory_order_relaxed);
  page_->busy.store(0, std::memory_order_seq_cst);
  // Pairs with the fence in submitting(): a program whose ring found the page busy had moved its
  // write index before, and we see that now.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!all_done()) {
    page_->busy.store(1, std::memory_order_seq_cst);
    return false;
  }
  tell_daemon();
  return true;
}

bool Watcher::all_done() {
  const Queues::Lock lock(queues);
  for (const TrackedQueue& queue : queues) {
    if (queue.state == QueueState::live && queue.part == part_ && !is_done(queue)) {
      return false;
    }
  }
  return true;
}

void Watcher::place_markers() {
  const Queues::Lock lock(queues);
  for (TrackedQueue& queue : queues) {
    if (queue.state == QueueState::live && queue.part == part_ && queue.many_producers &&
        !queue.marker_out && !is_done(queue)) {
      queue.marker_out = place_marker(queue);
    }
  }
}

// False: not now, the ring is filling up or other threads are quicker.
bool Watcher::place_marker(TrackedQueue& queue) {
  if (queue.marker.handle == 0 &&
      runtime.signal_create(0, 0, nullptr, &queue.marker) != HSA_STATUS_SUCCESS) {
    queue.marker.handle = 0;
    return false;
  }
  const u64 size = queue.queue->size;
  const u64 index = runtime.load_write_index(queue.queue);
  if (index - runtime.load_read_index(queue.queue) >= size / 2 || !gate.takes_marker(queue.queue)) {
    return false;
  }
  runtime.silent_store_relaxed(queue.marker, 1);
  // Compare-and-swap, because the slot is known to be free only for this index.
  if (runtime.cas_write_index(queue.queue, index, index + 1) != index) {
    return false;
  }
  auto* packet = static_cast<abi::BarrierPacket*>(queue.queue->base_address) + (index & (size - 1));
  packet->reserved0 = 0;
  packet->reserved1 = 0;
  for (u64& signal : packet->dep_signal) {
    signal = 0;
  }
  packet->reserved2 = 0;
  packet->completion_signal = queue.marker.handle;
  // The packet is whole before its header says so: pairs with the packet processor's read.
  __atomic_store_n(&packet->header, kMarkerHeader, __ATOMIC_RELEASE);
  queue.marker_index = index;
  runtime.store_screlease(queue.queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  return true;
}

// True: no marker is outstanding. False: time to count progress.
bool Watcher::wait_for_markers() {
  for (;;) {
    hsa_signal_t awaited = {0};
    {
      const Queues::Lock lock(queues);
      for (TrackedQueue& queue : queues) {
        if (!queue.marker_out || queue.part != part_) {
          continue;
        }
        if (runtime.signal_load(queue.marker) > 0) {
          awaited = queue.marker;
          break;
        }
        queue.marker_out = false;
        queue.done_through = queue.marker_index + 1;
      }
    }
    if (awaited.handle == 0) {
      return true;
    }
    wait_for_signal(awaited);
    if (runtime.signal_load(awaited) > 0) {
      return false;
    }
  }
}

// hsa_signal_wait_* spins for 200 us before it sleeps (interrupt_signal.cpp, InterruptSignal::
// WaitRelaxed): too much for a thread that does nothing but wait. The event behind the signal can
// be waited for directly; it stays raised until somebody has waited for it.
void Watcher::wait_for_signal(hsa_signal_t signal) {
  const auto* object = reinterpret_cast<const abi::AmdSignal*>(signal.handle);
  if (object->event_mailbox_ptr != 0) {
    if (kfd::wait_event(channel_, object->event_id, waits_.look_ms(kLookMs)) >= 0) {
      return;
    }
  }
  // Interrupts are off (HSA_ENABLE_INTERRUPT=0): look now and then.
  nap(kMarkerSpacingNs);
}

void Watcher::note_completed() {
  u64 more = 0;
  const Queues::Lock lock(queues);
  for (TrackedQueue& queue : queues) {
    if (queue.state == QueueState::live && queue.part == part_) {
      const u64 read = runtime.load_read_index(queue.queue);
      more += read - queue.read_seen;
      queue.read_seen = read;
    }
  }
  if (more > 0) {
    page_->completed.fetch_add(more, std::memory_order_relaxed);
    waits_.progress();
  }
}

// Work of this part may wait for work of another part, which the daemon may have stopped for this
// one: then it has to run.
void Watcher::note_waits() { set_waits(waits_.look(part_)); }

void Watcher::set_waits(u32 parts) {
  if (page_->waits_for.load(std::memory_order_relaxed) != parts) {
    page_->waits_for.store(parts, std::memory_order_release);
    tell_daemon();
  }
}

void Watcher::abandon_marker(TrackedQueue& queue) {
  if (queue.marker_out) {
    runtime.store_screlease(queue.marker, 0);  // wakes the watcher
  }
}

void Watcher::stop() {
  set_watching(false);
  if (!running_) {
    return;
  }
  quit_.store(true, std::memory_order_release);
  {
    const Queues::Lock lock(queues);
    for (TrackedQueue& queue : queues) {
      if (queue.part == part_) {
        abandon_marker(queue);
      }
    }
  }
  wake();
  pthread_join(thread_, nullptr);
  running_ = false;
}

void Watcher::destroy_markers() {
  const Queues::Lock lock(queues);
  for (TrackedQueue& queue : queues) {
    // A marker that is still in a ring may yet be written by the GPU: its signal is left behind.
    if (queue.marker.handle != 0 && !queue.marker_out) {
      runtime.signal_destroy(queue.marker);
    }
    queue.marker.handle = 0;
  }
}

}  // namespace gp::agent
