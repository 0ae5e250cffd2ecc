// Several jobs at once: one driver call for all that share a Batch, one after the other for the
// rest.
#include <algorithm>

#include "mechanism/job.h"

namespace gp::mechanism {

// An error comes again when the job is stopped alone.
Batch* Job::batch_for(std::optional<Id> wanted, bool held) {
  const std::lock_guard lock(call_mutex_);
  return attach_locked(wanted, held, {}) ? batch_locked() : nullptr;
}

Batch* Job::batch_locked() {
  return attachment_ && !has_gone(*attachment_) ? attachment_->batch() : nullptr;
}

// In the order of their addresses, so that two callers never wait for each other.
std::vector<std::unique_lock<std::mutex>> Job::lock_all(std::span<JobStop* const> jobs) {
  std::vector<Job*> ordered;
  for (const JobStop* each : jobs) {
    ordered.push_back(each->job.get());
  }
  std::sort(ordered.begin(), ordered.end());
  std::vector<std::unique_lock<std::mutex>> locks;
  for (Job* job : ordered) {
    locks.emplace_back(job->call_mutex_);
  }
  return locks;
}

std::vector<AttachedQueues> Job::queues_of(std::span<JobStop* const> jobs) {
  std::vector<AttachedQueues> queues;
  for (const JobStop* each : jobs) {
    queues.push_back({each->job->attachment_.get(), each->queue_ids});
  }
  return queues;
}

void Job::stop_together(std::span<JobStop> stops, const LeaseOptions& options) {
  std::vector<JobStop*> together, rest;
  Batch* batch = nullptr;
  for (JobStop& each : stops) {
    Batch* its = stops.size() > 1 ? each.job->batch_for(options.mechanism, each.held) : nullptr;
    batch = batch == nullptr ? its : batch;
    (its != nullptr && its == batch ? together : rest).push_back(&each);
  }
  if (!together.empty()) {
    stop_by_batch(together, *batch, options, rest);
  }
  for (JobStop* each : rest) {
    each->report =
        each->job->stop({each->job->process_, each->queue_ids}, options, each->held, each->call);
  }
}

// Those that changed meanwhile, or that another mechanism may be able to stop, go to `rest`.
void Job::stop_by_batch(std::vector<JobStop*>& jobs, Batch& batch, const LeaseOptions& options,
                        std::vector<JobStop*>& rest) {
  const auto locks = lock_all(jobs);
  const auto changed = std::stable_partition(jobs.begin(), jobs.end(), [&](const JobStop* each) {
    return each->job->batch_locked() == &batch;
  });
  rest.insert(rest.end(), changed, jobs.end());
  jobs.erase(changed, jobs.end());
  if (jobs.empty()) {
    return;
  }
  auto results = batch.stop(queues_of(jobs), options.stop);
  for (std::size_t i = 0; i < jobs.size(); i++) {
    JobStop& stop = *jobs[i];
    const Id id = stop.job->attachment_->id();
    stop.call = stop.job->attachment_->last_stop();
    if (results[i]) {
      stop.report = TargetReport{stop.job->process_, id, std::move(*results[i])};
    } else if (options.mechanism || stop.held || is_final(results[i].error().code)) {
      stop.report = std::move(results[i].error());
    } else {
      rest.push_back(&stop);
    }
  }
}

void Job::start_together(std::span<JobStop> jobs) {
  std::vector<JobStop*> together, rest;
  Batch* batch = nullptr;
  for (JobStop& each : jobs) {
    Batch* its = nullptr;
    if (jobs.size() > 1) {
      const std::lock_guard lock(each.job->call_mutex_);
      its = each.job->batch_locked();
    }
    batch = batch == nullptr ? its : batch;
    (its != nullptr && its == batch ? together : rest).push_back(&each);
  }
  if (!together.empty()) {
    start_by_batch(together, *batch);
  }
  for (JobStop* each : rest) {
    each->started = each->job->start(each->queue_ids);
  }
}

void Job::start_by_batch(std::vector<JobStop*>& jobs, Batch& batch) {
  const auto locks = lock_all(jobs);
  // What has gone, or was let go of, meanwhile is not stopped.
  std::erase_if(jobs, [&](const JobStop* each) { return each->job->batch_locked() != &batch; });
  const std::vector<Status> results = batch.start(queues_of(jobs));
  for (std::size_t i = 0; i < jobs.size(); i++) {
    std::unique_ptr<Attachment>& attachment = jobs[i]->job->attachment_;
    if (!results[i] && !has_gone(*attachment)) {
      jobs[i]->started = results[i];
      attachment.reset();
    }
  }
}

}  // namespace gp::mechanism
