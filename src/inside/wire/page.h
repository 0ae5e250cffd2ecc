// The page an agent shares with the daemon: whether the process has unfinished GPU work, and until
// when its queues may stay stopped. One writer per field. A memfd of kPageBytes, sealed against
// growing and shrinking, made by the daemon and sent with its welcome. Before that, and without a
// daemon, the agent has one of its own in its place.
//
// busy: the doorbell hook exchanges it to 1 and, if it was 0, writes the wake eventfd; the agent's
// watcher sets it to 0 when the last packet of every queue has completed, and writes the eventfd.
// The hook's exchange is sequentially consistent and comes before the doorbell store; the watcher
// looks at the queues again after it wrote 0 and takes the busy state back if a packet slipped in.
// The eventfd is also written when the agent ends an overdue lease, and when it finds out that this
// part of the process waits for another part of it, or not any more.
//
// A stop lasts until lease_deadline_ns or the command's deadline, whichever is later, but never
// longer than Welcome.lease_ns unless lease_deadline_ns has changed since the agent last looked.
#pragma once

#include <atomic>

#include "libc/types.h"

namespace gp::wire {

constexpr u64 kPageBytes = 4096;
constexpr u64 kPageMagic = 0x6567617070726770;  // "gprppage"

struct alignas(64) Page {
  // ---- written by the agent ----
  u64 magic = kPageMagic;
  u32 version = 1;
  u32 pid = 0;
  alignas(64) std::atomic<u32> busy{0};
  std::atomic<u32> stopped{0};        // 1 while the agent holds its queues stopped
  std::atomic<u64> busy_since_ns{0};  // CLOCK_MONOTONIC
  std::atomic<u64> idle_since_ns{0};
  std::atomic<u64> bursts{0};          // idle -> busy transitions
  std::atomic<u64> completed{0};       // packets the GPU has taken; the watcher counts while busy
  std::atomic<u64> overdue_starts{0};  // leases the agent ended itself
  std::atomic<u32> waits_for{0};       // other parts of the process: bits as of model/part.h
  // ---- written by the daemon ----
  alignas(64) std::atomic<u64> lease_deadline_ns{0};  // extended while the daemon wants the stop
};
static_assert(sizeof(Page) <= kPageBytes);
static_assert(std::atomic<u32>::is_always_lock_free && std::atomic<u64>::is_always_lock_free);

}  // namespace gp::wire
