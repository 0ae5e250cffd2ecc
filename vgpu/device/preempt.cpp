// Taking queues off the hardware: unmap, reset, and waiting for workers.
#include <algorithm>
#include <chrono>
#include <optional>

#include "device/cost.h"
#include "device/impl.h"

namespace vgpu::device {
namespace {

std::chrono::nanoseconds until(u64 deadline_ns) {
  const u64 now = now_ns();
  return std::chrono::nanoseconds(deadline_ns > now ? deadline_ns - now : 0);
}

}  // namespace

// Waves look at attention_ every few hundred instructions and stop.
void Gpu::Impl::raise_attention() { attention_.fetch_add(1, std::memory_order_relaxed); }
void Gpu::Impl::lower_attention() { attention_.fetch_sub(1, std::memory_order_relaxed); }

bool Gpu::Impl::wait_until(Lock& lock, u64 deadline_ns, const std::function<bool()>& done,
                           Loan* loan) {
  while (!done()) {
    if (now_ns() >= deadline_ns) {
      return false;
    }
    stopped_.wait_for(lock, std::min(until(deadline_ns), std::chrono::nanoseconds(kLoanNs)));
    if (loan && loan->turn_is_over() && !done()) {
      lock.unlock();
      loan->next_turn();
      lock.lock();
    }
  }
  return true;
}

bool Gpu::Impl::nobody_runs() const {
  return std::none_of(workers_.begin(), workers_.end(),
                      [](const auto& worker) { return worker->busy; });
}

bool Gpu::Impl::unmap_queues(u64 timeout_ns) {
  Loan loan(urgency_);  // before the locks: a worker without a CPU may have one
  std::lock_guard hws(hws_mutex_);
  const u64 start = now_ns();
  Lock lock(mutex_);
  loan.renew();
  const u64 deadline = start + timeout_ns;
  ++stats_.unmaps;
  if (phase_ == Phase::hung) {
    return false;
  }
  phase_ = Phase::preempting;
  for (QueueExecution* queue : mapped_) {
    queue->draining = false;  // decided again below, by one thread
    queue->save_planned = false;
  }
  const bool stopped = stop_and_save(lock, deadline, loan);
  if (!stopped || injection_.hws_hang || !drain(lock, start, deadline, loan)) {
    wait_until(
        lock, deadline, [&] { return stopping_; }, &loan);
    phase_ = Phase::hung;
    raise_attention();  // whatever still runs stops; lowered by reset()
    return false;
  }
  take_list_down();
  phase_ = Phase::running;
  return true;
}

// The next group to save: of a queue none of whose groups runs any more, because only then it is
// known what there is to save, and room may have to be made in its area.
Task Gpu::Impl::pick_save() {
  if (!saves_wanted_) {
    return {};
  }
  for (QueueExecution* queue : mapped_) {
    if (!queue->save_planned && queue->running == 0) {
      queue->save_planned = true;
      queue->to_save = plan_save(*queue);
    }
    if (queue->save_planned && !queue->to_save.empty()) {
      Task task;
      task.kind = Task::Kind::save_group;
      task.queue = queue;
      task.group = queue->to_save.back();
      queue->to_save.pop_back();
      return task;
    }
  }
  if (all_saved()) {
    stopped_.notify_all();  // the last queue may have had nothing to save
  }
  return {};
}

bool Gpu::Impl::nothing_left_to_save() const {
  return std::all_of(mapped_.begin(), mapped_.end(), [](QueueExecution* queue) {
    return queue->save_planned && queue->to_save.empty();
  });
}

bool Gpu::Impl::all_saved() const { return nobody_runs() && nothing_left_to_save(); }

// Workers save what they stop: they are awake, each on a CPU of its own. This thread saves what
// they leave, which is everything when they sleep.
bool Gpu::Impl::stop_and_save(Lock& lock, u64 deadline_ns, Loan& loan) {
  saves_wanted_ = !injection_.hws_hang;
  raise_attention();
  bool stopped = wait_until(
      lock, deadline_ns, [&] { return nobody_runs(); }, &loan);
  lower_attention();
  while (stopped && saves_wanted_ && !all_saved()) {
    const Task task = pick_save();
    if (task.kind == Task::Kind::none) {
      stopped = wait_until(
          lock, deadline_ns, [&] { return all_saved(); }, &loan);
      continue;
    }
    saving_ = true;
    lock.unlock();
    save_group(*task.group);
    lock.lock();
    saving_ = false;
    stopped_.notify_all();
  }
  saves_wanted_ = false;
  return stopped;
}

// Takes the saved groups off the CUs; those that could not be saved run to their end.
bool Gpu::Impl::drain(Lock& lock, u64 start_ns, u64 deadline_ns, Loan& loan) {
  u64 bytes = 0;
  for (QueueExecution* queue : mapped_) {
    for (const WorkGroup* group : queue->ready) {
      bytes += group->save_bytes;
    }
    queue->draining = !commit_saved(*queue);
    queue->leaving = true;
  }
  work_.notify_all();
  const auto drained = [&] {
    return nobody_runs() && std::all_of(mapped_.begin(), mapped_.end(), [](QueueExecution* queue) {
             return queue->ready.empty() || queue->stopped;
           });
  };
  if (!wait_until(lock, deadline_ns, drained, &loan)) {
    return false;
  }
  const u64 needed = preemption_ns(config_.cost_model, bytes) + injection_.unmap_delay_ns;
  if (needed != 0) {
    wait_until(
        lock, std::min(start_ns + needed, deadline_ns), [&] { return stopping_; }, &loan);
  }
  return now_ns() < deadline_ns;
}

// Nothing is listed any more. Waves of a stopped queue that could not be saved are lost.
void Gpu::Impl::take_list_down() {
  for (const MqdPtr& mqd : listed_) {
    QueueExecution& queue = *mqd->execution;
    if (queue.mapped) {
      while (!queue.ready.empty()) {
        WorkGroup& group = *queue.ready.front();
        queue.ready.pop_front();
        remove_group(group);
      }
      release_slot(queue);
    }
    mqd->vmid->code.collect();
  }
  leaving_ = 0;
  leaving_processes_.clear();
  listed_.clear();
  waiting_.clear();
  listed_doorbells_ = std::make_shared<const std::vector<Doorbell>>();
}

void Gpu::Impl::reset() {
  std::lock_guard hws(hws_mutex_);
  Lock lock(mutex_);
  if (phase_ != Phase::hung) {
    phase_ = Phase::hung;
    raise_attention();
  }
  wait_until(lock, ~u64{0}, [&] { return nobody_runs(); });
  for (const MqdPtr& mqd : listed_) {
    QueueExecution& queue = *mqd->execution;
    while (!queue.groups.empty()) {
      remove_group(*queue.groups.front());
    }
    queue.ready.clear();
    queue.saved.clear();
    queue.in_flight.clear();
    queue.launching = nullptr;
    queue.stopped = true;
  }
  take_list_down();
  injection_.hws_hang = false;
  lower_attention();
  phase_ = Phase::running;
}

void Gpu::Impl::quiesce() {
  std::optional<Loan> loan;
  Lock lock(mutex_);
  std::vector<u64> busy;  // per worker: its task count, or ~0 if it was between tasks
  for (const auto& worker : workers_) {
    busy.push_back(worker->busy ? worker->finished : ~u64{0});
  }
  const auto passed = [&] {
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (busy[i] != ~u64{0} && workers_[i]->finished == busy[i]) {
        return false;
      }
    }
    return !saving_;
  };
  if (passed()) {
    return;
  }
  loan.emplace(urgency_);
  raise_attention();
  wait_until(lock, ~u64{0}, passed, &*loan);
  lower_attention();
}

}  // namespace vgpu::device
