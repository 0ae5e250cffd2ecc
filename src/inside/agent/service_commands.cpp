// What the agent's thread does for the daemon: stops and starts the queues, each stop under a
// lease.
#include <errno.h>
#include <unistd.h>

#include <algorithm>

#include "agent/agent.h"
#include "agent/service.h"
#include "libc/clock.h"
#include "libc/eventfd.h"

namespace gp::agent {

void Service::on_stop(const wire::Command& command) {
  const u64 received = monotonic_ns();
  if (command.mechanism == Mechanism::gate) {
    const StopOutcome outcome = set_gate({.open = false}, command.deadline_ns);
    answer(command.header.sequence, outcome, received);
    return;
  }
  arm_lease(command.deadline_ns);
  const StopOutcome outcome = stopper.stop(part_, command.mechanism);
  follow_session();
  if (stopper.stopped(part_)) {
    page_->stopped.store(1, std::memory_order_release);
  } else {
    lease_ends_ns_ = 0;
  }
  answer(command.header.sequence, outcome, received);
}

// A window of 0 packets is a stop, and a lease like any other.
StopOutcome Service::set_gate(const GateWindow& window, u64 deadline_ns) {
  StopOutcome outcome;
  if (!gate.wanted() || part_ != Part::rest) {
    outcome.error = -EOPNOTSUPP;
    return outcome;
  }
  outcome.driver_enter_ns = monotonic_ns();
  outcome.queues = gate.set(window);
  outcome.driver_leave_ns = monotonic_ns();
  gate_shut_ = !window.open && window.packets == 0;
  if (gate_shut_) {
    arm_lease(deadline_ns);
  } else if (!stopper.stopped(part_)) {
    lease_ends_ns_ = 0;
  }
  page_->stopped.store(gate_shut_ || stopper.stopped(part_) ? 1 : 0, std::memory_order_release);
  return outcome;
}

void Service::on_gate(const wire::GateCommand& command) {
  const u64 received = monotonic_ns();
  const GateWindow window = {command.open != 0, command.window_packets, command.window_ns};
  answer(command.header.sequence, set_gate(window, received + lease_ns_), received);
}

void Service::on_start(const wire::Command& command) {
  const u64 received = monotonic_ns();
  answer(command.header.sequence, start_queues(), received);
}

void Service::answer(u32 sequence, const StopOutcome& outcome, u64 received_ns) {
  wire::Done done;
  done.header.sequence = sequence;
  done.error = outcome.error;
  done.queues = outcome.queues;
  done.received_ns = received_ns;
  done.driver_enter_ns = outcome.driver_enter_ns;
  done.driver_leave_ns = outcome.driver_leave_ns;
  if (link_.send(done.header) < 0) {
    lose_daemon();
  }
}

StopOutcome Service::start_queues() {
  if (gate_shut_) {
    gate_shut_ = false;
    gate.set({});
  }
  const StopOutcome outcome = stopper.start(part_);
  follow_session();
  if (outcome.error < 0) {
    lease_ends_ns_ = monotonic_ns() + lease_ns_;  // try again
    return outcome;
  }
  lease_ends_ns_ = 0;
  if (page_->stopped.exchange(0, std::memory_order_release) == 0) {
    return outcome;
  }
  // What the program wanted meanwhile, and what would have started its queues.
  const Queues::Lock lock(queues);
  for (TrackedQueue& queue : queues) {
    if (queue.state == QueueState::live && queue.part == part_ && queue.priority_deferred) {
      queue.priority_deferred = false;
      runtime.set_priority(queue.queue, queue.wanted_priority);
    }
  }
  return outcome;
}

// The daemon extends a lease by writing a later deadline into the page. However late it is, we look
// again after lease_ns_ at the latest, and then only a deadline that has changed counts.
void Service::arm_lease(u64 deadline_ns) {
  last_page_deadline_ = page_->lease_deadline_ns.load(std::memory_order_acquire);
  lease_ends_ns_ = std::min(std::max(deadline_ns, last_page_deadline_), monotonic_ns() + lease_ns_);
}

void Service::check_lease() {
  if (lease_ends_ns_ == 0 || monotonic_ns() < lease_ends_ns_) {
    return;
  }
  const u64 page_deadline = page_->lease_deadline_ns.load(std::memory_order_acquire);
  if (page_deadline != last_page_deadline_ && page_deadline > monotonic_ns()) {
    arm_lease(page_deadline);
    return;
  }
  start_queues();
  tell_that_queues_run();
}

// What was stopped may run because the driver wants it so: a lease has ended, as by time.
void Service::listen_to_driver() {
  if (stopper.handle_events()) {
    agent::queues_changed();  // wakes the other parts
  }
}

void Service::check_lost() {
  if (stopper.take_lost(part_)) {
    start_queues();
    tell_that_queues_run();
  }
}

// Although the daemon has not asked for it.
void Service::tell_that_queues_run() {
  page_->overdue_starts.fetch_add(1, std::memory_order_release);
  signal_event(wake_fd_);
}

}  // namespace gp::agent
