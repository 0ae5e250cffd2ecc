// Several processes at once: one driver call for all that share a Batch, one after the other for
// the rest.
#include <algorithm>

#include "mechanism/controlled_process.h"

namespace gp::mechanism {

// An error comes again when the process is stopped alone.
Batch* ControlledProcess::batch_for(std::optional<Mechanism> wanted, bool held) {
  const std::lock_guard lock(call_mutex_);
  return attach_locked(wanted, held, {}) ? batch_locked() : nullptr;
}

Batch* ControlledProcess::current_batch() {
  const std::lock_guard lock(call_mutex_);
  return batch_locked();
}

Batch* ControlledProcess::batch_locked() {
  return attachment_ && !has_gone(*attachment_) ? attachment_->batch() : nullptr;
}

// In the order of their addresses, so that two callers never wait for each other.
std::vector<std::unique_lock<std::mutex>> ControlledProcess::lock_all(const Group& first,
                                                                      const Group& second) {
  std::vector<ControlledProcess*> ordered;
  for (const Group* group : {&first, &second}) {
    for (const ProcessStop* each : *group) {
      ordered.push_back(each->process.get());
    }
  }
  std::sort(ordered.begin(), ordered.end());
  std::vector<std::unique_lock<std::mutex>> locks;
  for (ControlledProcess* process : ordered) {
    locks.emplace_back(process->call_mutex_);
  }
  return locks;
}

std::vector<AttachedQueues> ControlledProcess::queues_of(const Group& group) {
  std::vector<AttachedQueues> queues;
  for (const ProcessStop* each : group) {
    queues.push_back({each->process->attachment_.get(), each->queue_ids});
  }
  return queues;
}

// Attaches those to be stopped that are not yet.
Batch* ControlledProcess::gather_stops(std::span<ProcessStop> stops, const LeaseOptions& options,
                                       Group& together, Group& rest) {
  Batch* batch = nullptr;
  for (ProcessStop& each : stops) {
    Batch* its = each.process->batch_for(options.mechanism, each.held);
    batch = batch == nullptr ? its : batch;
    (its != nullptr && its == batch ? together : rest).push_back(&each);
  }
  return batch;
}

Batch* ControlledProcess::gather_starts(std::span<ProcessStop> starts, Batch* batch,
                                        Group& together, Group& rest) {
  for (ProcessStop& each : starts) {
    Batch* its = each.process->current_batch();
    batch = batch == nullptr ? its : batch;
    (its != nullptr && its == batch ? together : rest).push_back(&each);
  }
  return batch;
}

// Under the locks: those that have another attachment by now go to `rest`.
void ControlledProcess::drop_changed(Group& group, const Batch& batch, Group& rest) {
  const auto changed = std::stable_partition(
      group.begin(), group.end(),
      [&](const ProcessStop* each) { return each->process->batch_locked() == &batch; });
  rest.insert(rest.end(), changed, group.end());
  group.erase(changed, group.end());
}

// One that another mechanism may be able to stop goes to `rest`.
void ControlledProcess::conclude_stop(ProcessStop& stop, Result<std::vector<QueueReport>> result,
                                      const LeaseOptions& options, Group& rest) {
  const Attachment& attachment = *stop.process->attachment_;
  stop.call = attachment.last_stop();
  if (result) {
    stop.report = TargetReport{stop.process->process_, attachment.mechanism(), std::move(*result)};
  } else if (options.mechanism || stop.held || is_final(result.error().code)) {
    stop.report = std::move(result.error());
  } else {
    rest.push_back(&stop);
  }
}

void ControlledProcess::conclude_start(ProcessStop& start, const Status& result) {
  std::unique_ptr<Attachment>& attachment = start.process->attachment_;
  if (!result && !has_gone(*attachment)) {
    start.started = result;
    attachment.reset();
  }
}

void ControlledProcess::stop_alone(const Group& stops, const LeaseOptions& options) {
  for (ProcessStop* each : stops) {
    each->report = each->process->stop({each->process->process_, each->queue_ids}, options,
                                       each->held, each->call);
  }
}

void ControlledProcess::start_alone(const Group& starts) {
  for (ProcessStop* each : starts) {
    each->started = each->process->start(each->queue_ids);
  }
}

void ControlledProcess::stop_together(std::span<ProcessStop> stops, const LeaseOptions& options) {
  swap_together(stops, {}, options);
}

void ControlledProcess::start_together(std::span<ProcessStop> starts) {
  swap_together({}, starts, {});
}

void ControlledProcess::swap_together(std::span<ProcessStop> stops, std::span<ProcessStop> starts,
                                      const LeaseOptions& options) {
  Group stopping, starting, stopped_alone, started_alone;
  if (stops.size() + starts.size() > 1) {
    Batch* batch = gather_stops(stops, options, stopping, stopped_alone);
    batch = gather_starts(starts, batch, starting, started_alone);
    if (!stopping.empty() || !starting.empty()) {
      swap_by_batch(*batch, stopping, starting, options, stopped_alone);
    }
  } else {
    std::transform(stops.begin(), stops.end(), std::back_inserter(stopped_alone),
                   [](ProcessStop& each) { return &each; });
    std::transform(starts.begin(), starts.end(), std::back_inserter(started_alone),
                   [](ProcessStop& each) { return &each; });
  }
  stop_alone(stopped_alone, options);  // first: online work waits for them
  start_alone(started_alone);
}

void ControlledProcess::swap_by_batch(Batch& batch, Group& stopping, Group& starting,
                                      const LeaseOptions& options, Group& stopped_alone) {
  const auto locks = lock_all(stopping, starting);
  Group not_stopped;  // what has gone, or was let go of, meanwhile is not stopped
  drop_changed(stopping, batch, stopped_alone);
  drop_changed(starting, batch, not_stopped);
  if (stopping.empty() && starting.empty()) {
    return;
  }
  auto results = batch.swap(queues_of(stopping), queues_of(starting), options.stop);
  for (std::size_t i = 0; i < stopping.size(); i++) {
    conclude_stop(*stopping[i], std::move(results.stopped[i]), options, stopped_alone);
  }
  for (std::size_t i = 0; i < starting.size(); i++) {
    conclude_start(*starting[i], results.started[i]);
  }
}

}  // namespace gp::mechanism
