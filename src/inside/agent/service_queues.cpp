// What the agent's threads tell the daemon of the queues: each of those of its own part.
#include "agent/service.h"

namespace gp::agent {

// Tells of queues that came or went. Those that went first, and then whoever has such a ring now:
// the daemon knows a queue by its ring, which the next one often gets.
void Service::announce_queues() {
  if (!announce_those(QueueState::gone) || !announce_those(QueueState::live)) {
    lose_daemon();
  }
}

// Whether the daemon has to hear of it from this part, and then as if it had heard. A queue that
// has moved to another part has gone from this one.
bool Service::is_news(TrackedQueue& queue, QueueState state) const {
  if (state == QueueState::live) {
    const bool news = queue.state == QueueState::live && queue.part == part_ && !queue.announced;
    if (news) {
      queue.announced = true;
      queue.announced_as = part_;
    }
    return news;
  }
  if (queue.state == QueueState::gone && !queue.announced && part_ == Part::rest) {
    queues.release(queue);  // nobody ever heard of it
    return false;
  }
  const bool ours = queue.announced && queue.announced_as == part_;
  if (!ours || (queue.state == QueueState::live && queue.part == part_)) {
    return false;
  }
  queue.announced = false;
  if (queue.state == QueueState::gone) {
    queues.release(queue);
  }
  return true;
}

// A queue must not be destroyed while we ask for its id, and the lock of the stopper comes before
// that of the queues: hence the copy.
bool Service::announce_those(QueueState state) {
  for (u32 i = 0; i < kMostTracked; i++) {
    TrackedQueue copy;
    {
      const Queues::Lock lock(queues);
      if (queues.begin() + i >= queues.end()) {
        return true;
      }
      TrackedQueue& queue = queues.begin()[i];
      copy = queue;
      if (!is_news(queue, state)) {
        continue;
      }
      for (TrackedQueue& other : queues) {
        const bool replaced = state == QueueState::gone && &other != &queue &&
                              other.ring_base == copy.ring_base && other.announced_as == part_;
        other.announced = other.announced && !replaced;
      }
    }
    if (!announce(copy, state)) {
      return false;
    }
    if (state == QueueState::gone && copy.state == QueueState::live) {
      service_of(copy.part).kick();  // it has moved there, and could not be announced before
    }
  }
  return true;
}

bool Service::announce(const TrackedQueue& queue, QueueState state) {
  const u32 id = stopper.queue_id(queue.ring_base);
  if (state == QueueState::live) {
    wire::QueueCreated created;
    created.queue_id = id;
    created.gpu_id = queue.gpu_id;
    created.ring_base = queue.ring_base;
    created.ring_bytes = queue.ring_bytes;
    return link_.send(created.header) == 0;
  }
  wire::QueueDestroyed destroyed;
  destroyed.queue_id = id;
  destroyed.ring_base = queue.ring_base;
  return link_.send(destroyed.header) == 0;
}

void Service::forget_announced() {
  const Queues::Lock lock(queues);
  for (TrackedQueue& queue : queues) {
    if (queue.announced && queue.announced_as != part_) {
      continue;
    }
    if (queue.state == QueueState::gone && (queue.announced || part_ == Part::rest)) {
      queues.release(queue);
    }
    queue.announced = false;
  }
}

}  // namespace gp::agent
