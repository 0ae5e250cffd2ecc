// The early API, first form: each call from C to the Session and back.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lib/compat/session.h"

namespace gp::compat {
namespace {

constexpr u32 kMostQueues = 1024;

std::mutex mutex;  // guards `session`
// Shared, so that a call that is under way keeps it when another thread cleans up. Not destroyed at
// exit: other threads may still call, and the end of the process resumes everything anyway.
std::shared_ptr<Session>& session() {
  static auto& pointer = *new std::shared_ptr<Session>;
  return pointer;
}

thread_local char last_error[1024];
thread_local char last_mechanism[32];

int fail(const Error& error) {
  const char* quiet = std::getenv("GPREEMPT_POC_QUIET");
  std::snprintf(last_error, sizeof last_error, "%s%s%s%s", error.what.c_str(),
                error.hint.empty() ? "" : " (hint: ", error.hint.c_str(),
                error.hint.empty() ? "" : ")");
  if (quiet == nullptr || quiet[0] == '\0' || std::strcmp(quiet, "0") == 0) {
    std::fprintf(stderr, "gpreempt_poc: %s\n", last_error);
  }
  errno = error.code;
  return -1;
}

// Calls `body`, which returns a Status; what it throws is an errno too.
template <class Body>
int answer(Body&& body) {
  try {
    const Status status = body();
    return status ? 0 : fail(status.error());
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
  } catch (const std::exception& exception) {
    return fail(Error{EIO, exception.what(), "this is a bug in gpreempt: please report it"});
  }
}

Result<std::shared_ptr<Session>> current() {
  const std::scoped_lock lock(mutex);
  if (!session() || !session()->is_of_this_process()) {
    return Error{ENODEV, "gpreempt_poc_init() was not called in this process", ""};
  }
  return session();
}

Result<std::vector<u32>> ids_of(const uint32_t* ids, uint32_t count) {
  if (ids == nullptr || count == 0) {
    return Error{EINVAL, "no queue ids are given", ""};
  }
  if (count > kMostQueues) {
    return Error{EINVAL, std::to_string(count) + " queue ids", "at most 1024 in one call"};
  }
  std::vector<u32> result(ids, ids + count);
  std::vector<u32> sorted = result;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return Error{EINVAL, "queue " + std::to_string(*twice) + " is named twice",
                 "name each queue once"};
  }
  return result;
}

Status give(const std::vector<gpreempt_queue_info_t>& found, gpreempt_queue_info_t** queues,
            uint32_t* count) {
  gpreempt_queue_info_t* copy = nullptr;
  if (!found.empty()) {
    const std::size_t bytes = found.size() * sizeof *copy;
    copy = static_cast<gpreempt_queue_info_t*>(std::malloc(bytes));
    if (copy == nullptr) {
      return Error{ENOMEM, "queue list", ""};
    }
    std::memcpy(copy, found.data(), bytes);
  }
  *queues = copy;
  *count = static_cast<uint32_t>(found.size());
  return ok();
}

template <class SetFilter>
int find(gpreempt_queue_info_t** queues, uint32_t* count, SetFilter set_filter) {
  return answer([&]() -> Status {
    if (queues == nullptr || count == nullptr) {
      return Error{EINVAL, "no place for the queues", ""};
    }
    gpreempt_filter filter{};
    filter.size = sizeof filter;
    TRY(set_filter(filter));
    return give(TRY(TRY(current())->find(filter)), queues, count);
  });
}

// Priorities come from debugfs. Without it a search for one would find nothing and look successful.
Status check_priorities_known() {
  const Context context = TRY(open_context());
  const Snapshot snapshot = TRY(take_snapshot(*context, true));
  gpreempt_queue queue{};
  queue.size = sizeof queue;
  bool any = false;
  for (std::size_t i = 0; gpreempt_snapshot_queue(snapshot.get(), i, &queue) == 0; ++i) {
    if ((queue.valid & GPREEMPT_QUEUE_PRIORITY) != 0) {
      return ok();
    }
    any = true;
  }
  if (!any) {
    return ok();
  }
  const char* warning = gpreempt_snapshot_warning(snapshot.get(), 0);
  return Error{EACCES, std::string("no queue's priority is known: ") + (warning ? warning : ""),
               "debugfs is for root; find queues by process instead"};
}

}  // namespace
}  // namespace gp::compat

using namespace gp::compat;
using gp::Error;
using gp::ok;
using gp::Status;

int gpreempt_poc_init(void) {
  return answer([]() -> Status {
    const std::scoped_lock lock(mutex);
    if (session() && !session()->is_of_this_process()) {
      // A forked child: the parent's session has no thread here and must be left as it is.
      new std::shared_ptr<Session>(std::move(session()));
      session().reset();
    }
    if (!session()) {
      session() = TRY(Session::create());
    }
    return ok();
  });
}

void gpreempt_poc_cleanup(void) {
  std::shared_ptr<Session> last;
  const std::scoped_lock lock(mutex);
  if (session() && session()->is_of_this_process()) {
    last = std::move(session());
    session().reset();
  }
}

int gpreempt_poc_set_target(pid_t pid) {
  return answer([&]() -> Status { return TRY(current())->set_target(pid); });
}

const char* gpreempt_poc_last_error(void) { return last_error; }

const char* gpreempt_poc_last_mechanism(void) { return last_mechanism; }

int gpreempt_suspend_queues(uint32_t* queue_ids, uint32_t num_queues, uint32_t grace_period_us) {
  return answer([&]() -> Status {
    const auto session = TRY(current());
    const auto ids = TRY(ids_of(queue_ids, num_queues));
    const std::string mechanism = TRY(session->suspend(ids, grace_period_us));
    if (!mechanism.empty()) {
      std::snprintf(last_mechanism, sizeof last_mechanism, "%s", mechanism.c_str());
    }
    return ok();
  });
}

int gpreempt_resume_queues(uint32_t* queue_ids, uint32_t num_queues) {
  return answer([&]() -> Status {
    const auto session = TRY(current());
    return session->resume(TRY(ids_of(queue_ids, num_queues)));
  });
}

int gpreempt_get_all_queues(gpreempt_queue_info_t** queues, uint32_t* num_queues) {
  return find(queues, num_queues, [](gpreempt_filter&) { return ok(); });
}

int gpreempt_find_queues_by_priority(uint32_t min_prio, uint32_t max_prio,
                                     gpreempt_queue_info_t** queues, uint32_t* num_queues) {
  return find(queues, num_queues, [&](gpreempt_filter& filter) -> Status {
    if (min_prio > max_prio) {
      return Error{EINVAL, "the lowest priority is above the highest", ""};
    }
    TRY(check_priorities_known());
    filter.match = GPREEMPT_MATCH_PRIORITY;
    filter.priority_lowest = min_prio;
    filter.priority_highest = max_prio;
    return ok();
  });
}

int gpreempt_find_queues_by_process(pid_t pid, gpreempt_queue_info_t** queues,
                                    uint32_t* num_queues) {
  return find(queues, num_queues, [&](gpreempt_filter& filter) {
    filter.match = GPREEMPT_MATCH_PID;
    filter.pid = pid;
    return ok();
  });
}

void gpreempt_free_queue_info(gpreempt_queue_info_t* queues) { std::free(queues); }
