#include "mechanism/queue_set.h"

#include <fmt/format.h>

#include <cerrno>

#include "mechanism/target_process.h"

namespace gp::mechanism {

const char kRuntimeHint[] =
    "its ROCm never called RUNTIME_ENABLE (ROCr before 6.0, such as Debian's 5.2.3, does not): "
    "start it with `gpreempt run`, whose agent enables it, or use a newer ROCm";

Status check_queue_ids(pid_t pid, std::span<const u32> ids) {
  u32 bad = 0;
  const u32 count =
      static_cast<u32>(ids.size() > stop::kMostQueues ? stop::kMostQueues + 1 : ids.size());
  switch (stop::check_ids(ids.data(), count, &bad)) {
    case 0: return ok();
    case -E2BIG:
      return Error{EINVAL,
                   fmt::format("{} queues of pid {} in one call: the driver takes at most {}",
                               ids.size(), pid, stop::kMostQueues),
                   ""};
    case -ERANGE:
      return Error{EINVAL, fmt::format("{} is not a queue id of pid {}", bad, pid),
                   fmt::format("queue ids are 0 to {}, see `gpreempt queues --pid {}`",
                               stop::kMostQueues - 1, pid)};
    default: return Error{EINVAL, fmt::format("queue {} of pid {} is named twice", bad, pid), ""};
  }
}

Result<u32> driver_grace(const StopOptions& options) {
  constexpr u32 kMostGrace = 255;
  const u32 grace = options.grace_1k_clocks.value_or(abi::kUseDefaultGracePeriod);
  if (grace != abi::kUseDefaultGracePeriod && (grace == 0 || grace > kMostGrace)) {
    return Error{EINVAL, fmt::format("a grace period of {} does not exist", grace),
                 "it is 1 to 255, in units of 1024 GPU clocks (about half a microsecond)"};
  }
  return grace;
}

std::vector<KnownQueue> known_queues(const stop::QueueTable& table) {
  std::vector<KnownQueue> queues;
  for (u32 i = 0; i < table.count; i++) {
    const stop::Queue& queue = table.queues[i];
    auto type = discover::QueueType::unknown;
    switch (queue.type) {
      case abi::queue_type_compute:
      case abi::queue_type_compute_aql: type = discover::QueueType::compute; break;
      case abi::queue_type_sdma:
      case abi::queue_type_sdma_by_engine: type = discover::QueueType::sdma; break;
      case abi::queue_type_sdma_xgmi: type = discover::QueueType::sdma_xgmi; break;
      default: break;
    }
    queues.push_back(
        {queue.id, queue.gpu_id, type, queue.ring_base, queue.ring_bytes, queue.stopped});
  }
  return queues;
}

std::vector<QueueReport> reports_for(stop::QueueTable& table, std::span<const u32> ids,
                                     bool stopping) {
  std::vector<QueueReport> reports;
  reports.reserve(ids.size());
  for (const u32 id : ids) {
    const stop::Queue* queue = find_by_id(table, id, static_cast<u32>(reports.size()));
    const auto outcome = queue == nullptr             ? QueueOutcome::invalid
                         : queue->stopped == stopping ? QueueOutcome::already
                                                      : QueueOutcome::done;
    reports.push_back({id, outcome});
  }
  return reports;
}

std::vector<QueueReport> mark_done(std::vector<QueueReport> reports) {
  for (QueueReport& report : reports) {
    if (report.outcome == QueueOutcome::invalid) {
      report.outcome = QueueOutcome::done;
    }
  }
  return reports;
}

std::vector<u32> all_ids(const stop::QueueTable& table) {
  std::vector<u32> ids;
  ids.reserve(table.count);
  for (u32 i = 0; i < table.count; i++) {
    ids.push_back(table.queues[i].id);
  }
  return ids;
}

Error stop_error(pid_t pid, int error, u32 bad) {
  switch (error) {
    case -ENOENT:
      return Error{ENOENT, fmt::format("{} has no queue {}", describe_process(pid), bad),
                   fmt::format("see `gpreempt queues --pid {}`", pid)};
    case -EIO:
      return Error{EIO,
                   fmt::format("the driver could not stop queue {} of {}; it runs again", bad,
                               describe_process(pid)),
                   "the GPU did not give it up in time: see the kernel log"};
    default: return session_error(pid, "cannot stop queues of", error);
  }
}

Error no_queues_error(pid_t pid) {
  return Error{ENOENT, fmt::format("{} has no GPU queues", describe_process(pid)), ""};
}

Error session_error(pid_t pid, const char* what, int error) {
  const std::string text = fmt::format("{} {}", what, describe_process(pid));
  switch (error) {
    case -EPERM: return Error{EPERM, text, kRuntimeHint};
    case -ESRCH: return Error{ESRCH, text, "it has ended, or runs another program now"};
    case -EINVAL:
      return Error{ESRCH, text, "it is no longer debugged: it runs another program now"};
    case -ENOTTY: return Error{EOPNOTSUPP, text, "this driver is older than KFD 1.13 (Linux 6.5)"};
    default: return Error{-error, text, ""};
  }
}

}  // namespace gp::mechanism
