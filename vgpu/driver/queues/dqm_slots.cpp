// Slot reservation (kernel/patches 0006). The scheduler puts queues into slots as it likes, so
// slots can only be kept free by not handing it too many queues: the compute queues that the lease
// of the reservation has named low get what is not reserved, the others of them wait and change
// places with those from time to time.
#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "driver/preempt/leases.h"
#include "driver/process.h"
#include "driver/queues/dqm.h"

namespace vgpu::driver {
namespace {

constexpr u64 kNsPerMs = 1'000'000;

bool contains(const std::list<Queue*>& list, const Queue& queue) {
  return std::find(list.begin(), list.end(), &queue) != list.end();
}

void move_first_to_end(std::list<Queue*>& from, std::list<Queue*>& to) {
  to.splice(to.end(), from, from.begin());
}

}  // namespace

bool Dqm::competes_for_slots(const Queue& queue) const {
  const bool wants_slot = queue.is_waiting ? queue.wants_slot() : queue.is_active;
  return wants_slot && reservation_.slots && is_low(queue);
}

void Dqm::admit(Queue& queue) {
  if (!queue.is_waiting) {
    return;
  }
  queue.is_waiting = false;
  if (queue.should_be_active()) {
    queue.is_active = true;
    count(queue, 1);
  }
}

void Dqm::withhold(Queue& queue) {
  if (queue.is_waiting) {
    return;
  }
  queue.is_waiting = true;
  if (queue.is_active) {
    queue.is_active = false;
    count(queue, -1);
  }
}

// Queues that came, went or were named low since the last time. A queue that is inactive for
// another reason does not wait; when that is over it is active and found here.
void Dqm::update_slot_lists() {
  for (const ProcessDevice* device : processes_) {
    for (const QueuePtr& queue : device->queues) {
      if (!competes_for_slots(*queue)) {
        slot_users_.remove(queue.get());
        slot_waiters_.remove(queue.get());
        admit(*queue);
      } else if (!contains(slot_users_, *queue) && !contains(slot_waiters_, *queue)) {
        slot_waiters_.push_back(queue.get());
      }
    }
  }
}

// Decides who gets the slots that are not reserved. Called with nothing mapped, after all other
// reasons for queues to be active or not are settled, so that counters and run list agree.
void Dqm::balance_slots() {
  if (!reservation_.slots && slot_users_.empty() && slot_waiters_.empty()) {
    return;
  }
  update_slot_lists();

  const std::size_t budget = node_.config.hqds - reservation_.slots;
  if (rotate_now_) {
    for (std::size_t n = std::min(slot_users_.size(), slot_waiters_.size()); n > 0; --n) {
      move_first_to_end(slot_users_, slot_waiters_);
    }
    rotate_now_ = false;
  }
  while (slot_users_.size() > budget) {
    slot_waiters_.splice(slot_waiters_.begin(), slot_users_, std::prev(slot_users_.end()));
  }
  while (slot_users_.size() < budget && !slot_waiters_.empty()) {
    move_first_to_end(slot_waiters_, slot_users_);
  }
  for (Queue* queue : slot_users_) {
    admit(*queue);
  }
  for (Queue* queue : slot_waiters_) {
    withhold(*queue);
  }
  if (!slot_waiters_.empty() && !is_rotation_due_) {
    is_rotation_due_ = true;
    rotation_ = work_.add_after(reservation_.rotate_ms * kNsPerMs, [this] { rotate_slots(); });
  }
}

void Dqm::rotate_slots() {
  const std::lock_guard lock(mutex_);
  is_rotation_due_ = false;
  if (slot_waiters_.empty()) {
    return;
  }
  rotate_now_ = true;
  if (const int error = execute()) {
    log_error("gpu {:x}: waiting queues do not get their turn: error {}", node_.gpu_id, -error);
  }
}

void Dqm::cancel_rotation() {
  work_.cancel(rotation_);
  is_rotation_due_ = false;
}

int Dqm::reserve_slots(const Lease& lease, const Reservation& wanted) {
  if (wanted.slots && !lease.is_usable()) {
    return -ESTALE;
  }
  if (wanted.slots >= node_.config.hqds) {
    return -EINVAL;
  }
  if (reservation_owner_ && reservation_owner_ != &lease) {
    return -EBUSY;
  }
  reservation_owner_ = wanted.slots ? &lease : nullptr;
  reservation_term_ = lease.term;
  reservation_ = wanted;
  cancel_rotation();  // set again below, for the new time
  return execute();
}

}  // namespace vgpu::driver
