// Worker threads.
//
// A worker that finds nothing to do becomes the spinner: it looks at the doorbells for a while,
// because the next packet usually follows soon and waking a thread costs more than the packet. Only
// one worker spins; it runs what it finds itself, and wakes others only when there is more than
// that. After a quiet while it lets the doorbell pages cool and sleeps until one of them is rung.
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "device/impl.h"
#include "device/slice.h"

namespace vgpu::device {
namespace {

constexpr u64 kAwakeNs = 150'000;     // spin this long after the last activity
constexpr u64 kSpinNs = 5'000;        // between two looks at everything else
constexpr u64 kFirstPollNs = 20'000;  // timed sleep while something in host memory is awaited
constexpr u64 kLongestPollNs = 1'000'000;
constexpr u64 kFirstNapNs = 10'000;  // while all waves are in s_sleep
constexpr u64 kLongestNapNs = 200'000;
constexpr u64 kNapNsPerInstruction = 10;  // what a nap counts towards the time slice

// At the priority of everybody else, except while somebody waits for it (urgency.h).
void prepare_thread() {
  // Failure only costs latency: nothing to report.
  prctl(PR_SET_TIMERSLACK, 1000UL);
  prctl(PR_SET_NAME, "vgpu-worker");
}

// Also what a copy engine does: it runs for as long as its ring has packets.
bool runs_guest_code(const Task& task) {
  return task.kind == Task::Kind::run_group || task.kind == Task::Kind::restore_group ||
         task.kind == Task::Kind::sdma;
}

}  // namespace

void Gpu::Impl::worker_main(Worker& self) {
  prepare_thread();
  self.urgency = &urgency_.join();
  Lock lock(mutex_);
  while (!stopping_) {
    look_around();
    if (!outbox_.empty()) {
      // Before the next task, not during it: a callback may wait for a lock whose holder waits for
      // the workers to stop.
      const std::vector<HostCall> calls = std::exchange(outbox_, {});
      lock.unlock();
      deliver(calls);
      lock.lock();
      continue;
    }
    if (all_asleep()) {
      nap(lock);
      continue;
    }
    Task task = pick(self);
    if (task.kind != Task::Kind::none) {
      run_task(self, task, lock);
    } else {
      idle(self, lock);
    }
  }
}

void Gpu::Impl::deliver(const std::vector<HostCall>& calls) {
  for (const HostCall& call : calls) {
    switch (call.kind) {
      case HostCall::Kind::event: host_.signal_event(call.pasid, call.event_id); break;
      case HostCall::Kind::memory_fault: host_.memory_fault(call.pasid, call.fault); break;
      case HostCall::Kind::queue_error:
        host_.queue_error(*call.queue, call.error, call.error_code);
        break;
    }
  }
}

void Gpu::Impl::run_task(Worker& self, Task& task, Lock& lock) {
  if (more_work() || (!task.first_slice && !spinner_ && !cooled_)) {
    // There is more than this worker can do, or nobody would look at the doorbells meanwhile.
    wake_worker();
  }
  const u64 loans_so_far = urgency_.serial();
  self.busy = true;
  ++task.queue->running;
  lock.unlock();
  if (runs_guest_code(task)) {
    urgency_.guest_code_next(*self.urgency, loans_so_far);
  }
  const TaskResult result = do_task(task);
  lock.lock();
  self.busy = false;
  ++self.finished;
  --task.queue->running;
  if (task.first_slice) {
    self.launch_credit += result.slice.instructions + kLaunchInstructions;
  } else {
    self.launch_credit = 0;
  }
  finish_task(task, result);
  // There are many groups to save, and the one who waits has nothing to do before the last.
  if (task.kind != Task::Kind::save_group || all_saved()) {
    stopped_.notify_all();
  }
}

TaskResult Gpu::Impl::do_task(Task& task) {
  TaskResult result;
  switch (task.kind) {
    case Task::Kind::run_group: result.slice = run_group(*task.group); break;
    case Task::Kind::restore_group:
      // Runs at once, so that even the shortest stay on the device is of use.
      result.restored = restore_group(*task.group);
      if (result.restored) {
        result.slice = run_group(*task.group);
      }
      break;
    case Task::Kind::sdma: result.sdma = task.sdma->run(attention_); break;
    case Task::Kind::save_queue: save_groups(*task.queue); break;
    case Task::Kind::save_group: save_group(*task.group); break;
    case Task::Kind::none: break;
  }
  return result;
}

void Gpu::Impl::finish_task(Task& task, const TaskResult& result) {
  stats_.wave_instructions += result.slice.instructions;
  quantum_used_ += result.slice.instructions + result.slice.sleeps * kSleepInstructions;
  for (const u32 event : result.slice.events) {
    post_event(*task.queue, event);
  }
  switch (task.kind) {
    case Task::Kind::run_group: finish_group(*task.group, result.slice); break;
    case Task::Kind::restore_group:
      if (result.restored) {
        finish_group(*task.group, result.slice);
      } else {
        restore_failed(*task.group);
      }
      break;
    case Task::Kind::sdma: finish_sdma(task, result.sdma); break;
    case Task::Kind::save_queue: finish_leaving(*task.queue); break;
    case Task::Kind::save_group:
    case Task::Kind::none: break;
  }
}

// Packets arrived or completed: more are likely soon.
void Gpu::Impl::activity() {
  idle_slices_ = 0;
  awake_until_ = now_ns() + kAwakeNs;
  cooled_ = false;
  poll_delay_ = kFirstPollNs;
}

void Gpu::Impl::wake_worker() {
  if (sleepers_ > 0) {
    work_.notify_one();
  }
}

void Gpu::Impl::idle(Worker& self, Lock& lock) {
  // While the last groups are saved there is nothing to look out for: whoever waits for them needs
  // the CPU more.
  if (spinner_ || (saves_wanted_ && nothing_left_to_save())) {
    ++sleepers_;
    work_.wait(lock);
    --sleepers_;
  } else if (now_ns() < awake_until_) {
    spin(self, lock);
  } else if (!cooled_) {
    cool_doorbells(lock);
  } else {
    sleep(lock);
  }
}

// Looks at the doorbells, without the lock, until one changes or it is time to look at the rest.
void Gpu::Impl::spin(Worker& self, Lock& lock) {
  spinner_ = &self;
  self.rings.clear();
  for (const MqdPtr& mqd : listed_) {
    self.rings.push_back(mqd->execution->last_ring);
  }
  const auto doorbells = listed_doorbells_;
  const u64 kicks = kicks_.load(std::memory_order_relaxed);
  lock.unlock();
  const u64 end = now_ns() + kSpinNs;
  bool changed = false;
  while (!changed && now_ns() < end) {
    __builtin_ia32_pause();
    changed = kicks_.load(std::memory_order_relaxed) != kicks;
    for (size_t i = 0; i < self.rings.size(); ++i) {
      const Doorbell& bell = (*doorbells)[i];
      changed |= bell.page->slot(bell.slot).load(std::memory_order_relaxed) != self.rings[i];
    }
  }
  lock.lock();
  spinner_ = nullptr;
}

// The doorbells are looked at once more after this (look_around), because a store may have come
// just before its page became cold.
void Gpu::Impl::cool_doorbells(Lock& lock) {
  cooled_ = true;
  const auto doorbells = listed_doorbells_;
  lock.unlock();
  doorbells_.cool_down(*doorbells);
  lock.lock();
  looked_at_ = 0;
}

// A page is open and nobody but the device looks at it: no store into it will wake a worker. Asked
// each time, not remembered: two workers may cool the pages at once, and what the slower one found
// out may be no longer true when it gets the lock.
bool Gpu::Impl::doorbells_open() const {
  return std::any_of(listed_doorbells_->begin(), listed_doorbells_->end(),
                     [](const Doorbell& bell) { return bell.page->hot.load(); });
}

// Every resident wave has had a turn and found nothing to do but sleep: they wait for the host.
bool Gpu::Impl::all_asleep() const {
  return phase_ == Phase::running && idle_slices_ > 2 * occupancy_.waves_resident() + 2;
}

// Leaves the CPU to the program for a moment; longer and longer while nothing changes.
void Gpu::Impl::nap(Lock& lock) {
  idle_slices_ = 0;
  nap_ns_ = std::clamp(nap_ns_ * 2, kFirstNapNs, kLongestNapNs);
  quantum_used_ += nap_ns_ / kNapNsPerInstruction;
  ++sleepers_;
  work_.wait_for(lock, std::chrono::nanoseconds(nap_ns_));
  --sleepers_;
}

void Gpu::Impl::sleep(Lock& lock) {
  ++sleepers_;
  const u64 now = now_ns();
  const u64 timer = timer_taken_ ? 0 : next_timer(now);
  if (timer == 0) {
    work_.wait(lock);
  } else {
    timer_taken_ = true;
    poll_delay_ = std::min(poll_delay_ * 2, kLongestPollNs);
    work_.wait_for(lock, std::chrono::nanoseconds(timer > now ? timer - now : 1));
    timer_taken_ = false;
    if (doorbells_open()) {
      cooled_ = false;  // to be tried again, if it has not been rung
    }
  }
  --sleepers_;
}

}  // namespace vgpu::device
