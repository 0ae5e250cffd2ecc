#include "daemon/outside.h"

#include <sys/epoll.h>

#include <cerrno>

#include "base/log.h"

namespace gp::daemon {

using mechanism::LeaseId;
using sched::Answer;
using sched::Order;
using sched::ProcessId;
using sched::Verb;

namespace {

mechanism::LeaseOptions lease_options(const Order& order, u64 called_ns) {
  constexpr u64 kLeastNs = 1'000'000;
  mechanism::LeaseOptions options;
  options.duration = std::chrono::nanoseconds(
      order.deadline_ns > called_ns ? order.deadline_ns - called_ns : kLeastNs);
  options.mechanism = sched::info(order.way).mechanism;
  options.stop.report_queues = false;
  return options;
}

// What is not there, or has gone, is not stopped.
Status or_gone(Status started) {
  const bool gone = !started && (started.error().code == ENOENT || started.error().code == ESRCH);
  return gone ? ok() : std::move(started);
}

}  // namespace

Result<std::unique_ptr<Outside>> Outside::create(Loop& loop, Answered answered, Ended ended) {
  std::unique_ptr<Outside> outside(new Outside(loop, std::move(answered), std::move(ended)));
  outside->controller_ = TRY(mechanism::Controller::create());
  Outside* self = outside.get();
  outside->events_ =
      TRY(loop.add(self->controller_->event_fd(), EPOLLIN, [self](u32) { self->take_events(); }));
  return outside;
}

Outside::~Outside() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  loop_.remove(events_);
}

void Outside::submit(const discover::ProcessKey& process, Work work) {
  const std::lock_guard lock(mutex_);
  Strand& strand = strands_[process];
  strand.work.push_back(std::move(work));
  if (strand.active || strand.work.size() > 1) {
    return;
  }
  ready_.push_back(process);
  if (idle_threads_ < ready_.size() && threads_.size() < kMostThreads) {
    threads_.emplace_back([this] { run_thread(); });
  }
  wake_.notify_one();
}

void Outside::run_thread() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_threads_;
    wake_.wait(lock, [this] { return ending_ || !ready_.empty(); });
    --idle_threads_;
    if (ready_.empty()) {
      return;
    }
    const discover::ProcessKey process = ready_.front();
    ready_.pop_front();
    Strand& strand = strands_[process];
    strand.active = true;
    while (!strand.work.empty()) {
      const Work work = std::move(strand.work.front());
      strand.work.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
    strands_.erase(process);
  }
}

void Outside::carry_out(const Order& order, const discover::ProcessKey& key) {
  if (is_kernel(order.way) && (order.verb == Verb::stop || order.verb == Verb::start)) {
    collected_.push_back({order, key});
    return;
  }
  submit(key, [this, order, key] {
    switch (order.verb) {
      case Verb::prepare:
        answer(order, controller_->prepare(key, sched::info(order.way).mechanism));
        break;
      case Verb::stop: stop(order, key); break;
      case Verb::start: start(order); break;
      case Verb::extend: extend(order); break;
    }
  });
}

void Outside::stop(const Order& order, const discover::ProcessKey& key) {
  const u64 called_ns = monotonic_ns();
  const mechanism::LeaseOptions options = lease_options(order, called_ns);
  const mechanism::Target target{key, {}};
  const auto report = controller_->stop({&target, 1}, options);
  if (!report) {
    answer(order, report.error());
    return;
  }
  stopped(order, called_ns, *report);
}

void Outside::stopped(const Order& order, u64 called_ns, const mechanism::LeaseReport& report) {
  {
    const std::lock_guard lock(mutex_);
    leases_[order.process] = report.lease;
  }
  // The engine counts the lease from now on.
  const u64 lasts_ns = lease_options(order, called_ns).duration.count();
  const Status extended = controller_->extend(
      report.lease, std::chrono::nanoseconds(lasts_ns + monotonic_ns() - called_ns));
  Answer done;
  done.driver_enter_ns = called_ns + report.times.before_ns;
  done.driver_leave_ns = done.driver_enter_ns + report.times.driver_ns;
  answer(order, extended, done);
}

void Outside::start(const Order& order) {
  LeaseId lease = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(order.process);
    if (found == leases_.end()) {
      answer(order, ok());  // it has ended by itself
      return;
    }
    lease = found->second;
    leases_.erase(found);
  }
  answer(order, or_gone(controller_->start(lease)));
}

// Stops first: online work waits for them. They are of other processes than the starts, for the
// engine gives a process one order at a time.
void Outside::carry_out_together(std::span<const Collected> orders) {
  std::vector<Collected> stops, starts;
  for (const Collected& each : orders) {
    (each.order.verb == Verb::stop ? stops : starts).push_back(each);
  }
  if (!stops.empty()) {
    stop_together(stops);
  }
  if (!starts.empty()) {
    start_together(starts);
  }
}

void Outside::stop_together(std::span<const Collected> orders) {
  const u64 called_ns = monotonic_ns();
  std::vector<mechanism::Target> targets;
  for (const Collected& each : orders) {
    targets.push_back({each.key, {}});
  }
  const auto reports =
      controller_->stop_each(targets, lease_options(orders.front().order, called_ns));
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (reports[i]) {
      stopped(orders[i].order, called_ns, *reports[i]);
    } else {
      answer(orders[i].order, reports[i].error());
    }
  }
}

void Outside::start_together(std::span<const Collected> orders) {
  std::vector<LeaseId> leases;
  for (const Collected& each : orders) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(each.order.process);
    leases.push_back(found == leases_.end() ? LeaseId{0}
                                            : found->second);  // 0: has ended by itself
    leases_.erase(each.order.process);
  }
  const std::vector<Status> results = controller_->start_each(leases);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    answer(orders[i].order, or_gone(results[i]));
  }
}

void Outside::extend(const Order& order) {
  const u64 now_ns = monotonic_ns();
  LeaseId lease = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(order.process);
    if (found == leases_.end() || order.deadline_ns <= now_ns) {
      return;
    }
    lease = found->second;
  }
  const Status status =
      controller_->extend(lease, std::chrono::nanoseconds(order.deadline_ns - now_ns));
  if (!status) {
    log_debug("lease not extended: {}", status.error().message());  // its end is reported apart
  }
}

void Outside::answer(const Order& order, const Status& status, Answer answer) {
  answer.sequence = order.sequence;
  if (!status) {
    answer.error = status.error().code;
    answer.reason = status.error().message();
  }
  loop_.post([this, process = order.process, answer] { answered_(process, answer); });
}

void Outside::take_events() {
  for (const mechanism::LeaseEvent& event : controller_->take_events()) {
    ProcessId process = 0;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [id, lease] : leases_) {
        process = lease == event.lease ? id : process;
      }
      leases_.erase(process);
    }
    if (process != 0) {
      ended_(process);
    }
  }
}

void Outside::let_go(const discover::ProcessKey& key, std::function<void()> done) {
  submit(key, [this, key, done = std::move(done)] {
    if (const Status left = controller_->let_go(key); !left) {
      log_debug("still attached to process {}: {}", key.pid, left.error().message());
    }
    loop_.post(done);
  });
}

void Outside::start_leftover(const discover::ProcessKey& key, mechanism::Id id) {
  submit(key, [key, id] {
    mechanism::AttachOptions options;
    options.take_over = true;
    auto attachment = mechanism::attach(id, key, options);
    if (!attachment) {
      log_info("process {}, left stopped by a daemon before: {}", key.pid,
               attachment.error().message());
      return;
    }
    const Status started = (*attachment)->start_all();
    if (started) {
      log_info("started process {}, which a daemon before had left stopped", key.pid);
    } else {
      log_warning("cannot start process {}: {}", key.pid, started.error().message());
    }
  });
}

}  // namespace gp::daemon
