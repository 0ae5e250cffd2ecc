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

mechanism::Clock::time_point time_point(u64 monotonic_ns) {
  return mechanism::Clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}

mechanism::LeaseOptions lease_options(const Order& order) {
  mechanism::LeaseOptions options;
  options.deadline = time_point(order.deadline_ns);
  options.mechanism = order.mechanism;
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
  outside->controller_ = TRY(mechanism::Controller::create({.keeper = true}));
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

void Outside::submit(const ProcessKey& process, Work work) {
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
    const ProcessKey process = ready_.front();
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

void Outside::carry_out(const Order& order, const ProcessKey& key) {
  if (order.verb == Verb::stop) {
    const std::lock_guard lock(mutex_);
    early_extensions_.erase(order.process);  // of a stop that failed
  }
  if (order.mechanism == Mechanism::kernel &&
      (order.verb == Verb::stop || order.verb == Verb::start)) {
    collected_.push_back({order, key});
    return;
  }
  submit(key, [this, order, key] {
    switch (order.verb) {
      case Verb::prepare: answer(order, controller_->prepare(key, order.mechanism)); break;
      case Verb::stop: stop(order, key); break;
      case Verb::start: start(order); break;
      case Verb::extend: extend(order); break;
    }
  });
}

void Outside::stop(const Order& order, const ProcessKey& key) {
  const u64 called_ns = monotonic_ns();
  const mechanism::Target target{key, {}};
  const auto report = controller_->stop({&target, 1}, lease_options(order));
  if (!report) {
    answer(order, report.error());
    return;
  }
  stopped(order, called_ns, *report);
}

void Outside::stopped(const Order& order, u64 called_ns, const mechanism::LeaseReport& report) {
  std::optional<u64> later_ns;
  {
    const std::lock_guard lock(mutex_);
    leases_[order.process] = report.lease;
    if (const auto extension = early_extensions_.extract(order.process)) {
      later_ns = extension.mapped();
    }
  }
  const Status extended =
      later_ns ? controller_->extend(report.lease, time_point(*later_ns)) : ok();
  Answer done;
  done.driver_enter_ns = called_ns + report.times.before_ns;
  done.driver_leave_ns = done.driver_enter_ns + report.times.driver_ns;
  answer(order, extended, done);
}

void Outside::start(const Order& order) {
  answer(order, or_gone(controller_->start(take_lease(order.process))));
}

// The stops are of other processes than the starts, for the engine gives a process one order at a
// time: one driver call for all of them.
void Outside::carry_out_together(std::span<const Collected> orders) {
  const u64 called_ns = monotonic_ns();
  std::vector<Order> stops, starts;
  std::vector<mechanism::Target> targets;
  std::vector<LeaseId> leases;
  for (const Collected& each : orders) {
    if (each.order.verb == Verb::stop) {
      stops.push_back(each.order);
      targets.push_back({each.key, {}});
    } else {
      starts.push_back(each.order);
      leases.push_back(take_lease(each.order.process));
    }
  }
  mechanism::Controller::Swapped results;
  if (stops.empty()) {
    results.started = controller_->start_each(leases);
  } else {
    results = controller_->swap_each(targets, lease_options(stops.front()), leases);
  }
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (results.stopped[i]) {
      stopped(stops[i], called_ns, *results.stopped[i]);
    } else {
      answer(stops[i], results.stopped[i].error());
    }
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    answer(starts[i], or_gone(results.started[i]));
  }
}

// 0, which no lease is: it has ended by itself.
LeaseId Outside::take_lease(ProcessId process) {
  const std::lock_guard lock(mutex_);
  const auto node = leases_.extract(process);
  return node.empty() ? LeaseId{0} : node.mapped();
}

void Outside::extend(const Order& order) {
  LeaseId lease = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(order.process);
    if (found == leases_.end()) {
      early_extensions_[order.process] = order.deadline_ns;  // the driver is at the stop yet
      return;
    }
    lease = found->second;
  }
  const Status status = controller_->extend(lease, time_point(order.deadline_ns));
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

void Outside::let_go(const ProcessKey& key, std::function<void()> done) {
  submit(key, [this, key, done = std::move(done)] {
    if (const Status left = controller_->let_go(key); !left) {
      log_debug("still attached to process {}: {}", key.pid, left.error().message());
    }
    loop_.post(done);
  });
}

void Outside::unpause_leftover(const ProcessKey& key) {
  submit(key, [key] {
    mechanism::AttachOptions options;
    options.take_over = true;
    if (const auto attached = mechanism::attach(Mechanism::criu, key, options); attached) {
      log_info("process {}, which a daemon before had paused, runs", key.pid);
    } else {  // it has ended, or its pause guard is at it
      log_info("process {}, paused by a daemon before: {}", key.pid, attached.error().message());
    }
  });
}

}  // namespace gp::daemon
