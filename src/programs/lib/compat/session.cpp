#include "lib/compat/session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace gp::compat {
namespace {

constexpr std::chrono::milliseconds kLease{GPREEMPT_POC_LEASE_MS};
constexpr u32 kLongestGrace = 255;

u64 nanoseconds(std::chrono::nanoseconds duration) { return static_cast<u64>(duration.count()); }

// Of the process that has this pid now.
Result<u64> start_time_of(gpreempt_context& context, pid_t pid) {
  const Snapshot snapshot = TRY(take_snapshot(context, false));
  gpreempt_process process{};
  process.size = sizeof process;
  for (std::size_t i = 0; gpreempt_snapshot_process(snapshot.get(), i, &process) == 0; ++i) {
    if (process.pid == pid) {
      return process.start_time;
    }
  }
  return Error{ESRCH, "process " + std::to_string(pid) + " has no GPU queues",
               "gpreempt queues shows which processes have some"};
}

gpreempt_queue_info_t describe(const gpreempt_queue& queue, const char* tag) {
  gpreempt_queue_info_t info{};
  info.queue_id = queue.queue_id;
  info.priority =
      (queue.valid & GPREEMPT_QUEUE_PRIORITY) != 0 ? queue.priority : GPREEMPT_POC_UNKNOWN;
  info.gpu_id = queue.gpu_id;
  info.process_id = queue.pid;
  info.is_active = (queue.valid & GPREEMPT_QUEUE_ACTIVE) == 0 || queue.active != 0;
  info.queue_address = queue.ring_base;
  std::strncpy(info.tag, tag, sizeof info.tag - 1);
  return info;
}

std::string text_of(const QueueName& queue) {
  return "queue " + std::to_string(queue.queue_id) + " of process " + std::to_string(queue.pid);
}

}  // namespace

Error last_failure(int result) {
  return Error{-result, gpreempt_error_text(), gpreempt_error_hint()};
}

Result<Context> open_context() {
  gpreempt_context* context = nullptr;
  const int result = gpreempt_open(nullptr, &context);
  if (result != 0) {
    return last_failure(result);
  }
  return Context(context);
}

Result<Snapshot> take_snapshot(gpreempt_context& context, bool with_debugfs) {
  gpreempt_snapshot_options options{};
  options.size = sizeof options;
  options.without_debugfs = with_debugfs ? 0 : 1;
  gpreempt_snapshot* snapshot = nullptr;
  const int result = gpreempt_snapshot_take(&context, &options, &snapshot);
  if (result != 0) {
    return last_failure(result);
  }
  return Snapshot(snapshot);
}

Session::Session(Context context) : process_(::getpid()), context_(std::move(context)) {}

Result<std::unique_ptr<Session>> Session::create() {
  Context context = TRY(open_context());
  TRY(take_snapshot(*context, false));
  if (::access("/dev/kfd", R_OK | W_OK) != 0) {
    return Error{errno, std::string("/dev/kfd: ") + std::strerror(errno),
                 "gpreempt doctor says what is missing"};
  }
  std::unique_ptr<Session> session(new Session(std::move(context)));
  session->renewer_ = std::thread([&session = *session] { session.renew_leases(); });
  return session;
}

Session::~Session() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  renewer_.join();
}

bool Session::is_of_this_process() const { return process_ == ::getpid(); }

Status Session::set_target(pid_t pid) {
  std::optional<QueueName> target;
  if (pid != 0) {
    target = QueueName{pid, TRY(start_time_of(*context_, pid)), 0};
  }
  const std::scoped_lock lock(mutex_);
  target_ = target;
  return ok();
}

Result<std::vector<gpreempt_queue_info_t>> Session::find(const gpreempt_filter& filter) {
  const Snapshot snapshot = TRY(take_snapshot(*context_, true));
  const ssize_t count = gpreempt_snapshot_find(snapshot.get(), &filter, nullptr, 0);
  if (count < 0) {
    return last_failure(static_cast<int>(count));
  }
  std::vector<std::size_t> indices(static_cast<std::size_t>(count));
  gpreempt_snapshot_find(snapshot.get(), &filter, indices.data(), indices.size());
  std::vector<gpreempt_queue_info_t> found;
  std::map<u32, std::vector<QueueName>> shown;
  for (const std::size_t index : indices) {
    gpreempt_queue queue{};
    queue.size = sizeof queue;
    gpreempt_snapshot_queue(snapshot.get(), index, &queue);
    if ((queue.valid & GPREEMPT_QUEUE_ID) == 0) {
      continue;  // only debugfs knows it: nothing can be done with it here
    }
    gpreempt_process process{};
    process.size = sizeof process;
    gpreempt_snapshot_process(snapshot.get(), queue.process, &process);
    found.push_back(describe(queue, process.tag));
    shown[queue.queue_id].push_back({queue.pid, queue.start_time, queue.queue_id});
  }
  const std::scoped_lock lock(mutex_);
  for (auto& [id, names] : shown) {
    shown_[id] = std::move(names);
  }
  return found;
}

Result<QueueName> Session::resolve(u32 id) const {
  if (target_) {
    return QueueName{target_->pid, target_->start_time, id};
  }
  const auto found = shown_.find(id);
  if (found == shown_.end()) {
    return Error{ENOENT, "queue " + std::to_string(id) + " was in no result so far",
                 "call gpreempt_get_all_queues() or gpreempt_poc_set_target() first"};
  }
  const std::vector<QueueName>& names = found->second;
  if (names.size() > 1) {
    std::string pids;
    for (const QueueName& name : names) {
      pids += (pids.empty() ? "" : " and ") + std::to_string(name.pid);
    }
    return Error{EINVAL, "queue " + std::to_string(id) + " exists in processes " + pids,
                 "choose one with gpreempt_poc_set_target() or gpreempt_find_queues_by_process()"};
  }
  return names.front();
}

Result<QueueName> Session::resolve_held(u32 id) const {
  std::vector<QueueName> matching;
  for (const Held& held : held_) {
    std::copy_if(held.queues.begin(), held.queues.end(), std::back_inserter(matching),
                 [id](const QueueName& queue) { return queue.queue_id == id; });
  }
  if (!target_ && matching.size() == 1) {
    return matching.front();
  }
  return resolve(id);
}

// What has ended by itself (its process is gone) is no longer ours.
void Session::drop_ended_leases() {
  std::erase_if(held_, [](const Held& held) {
    return gpreempt_lease_state(held.lease.get()) != GPREEMPT_LEASE_HELD;
  });
}

Result<std::string> Session::stop(const std::set<QueueName>& queues, u32 grace_us) {
  std::vector<gpreempt_queue_name> names;
  for (const QueueName& queue : queues) {
    names.push_back({queue.pid, queue.queue_id, queue.start_time});
  }
  gpreempt_stop_options options{};
  options.size = sizeof options;
  options.duration_ns = nanoseconds(kLease);
  options.grace_1k_clocks = std::min(grace_us, kLongestGrace);
  gpreempt_lease* lease = nullptr;
  const int result =
      gpreempt_stop_queues(context_.get(), names.data(), names.size(), &options, &lease);
  if (result != 0) {
    return last_failure(result);
  }
  held_.push_back({Lease(lease), queues, grace_us});
  gpreempt_lease_queue_info info{};
  info.size = sizeof info;
  return std::string(gpreempt_lease_queue(lease, 0, &info) == 0 ? info.mechanism : "");
}

Result<std::string> Session::suspend(const std::vector<u32>& ids, u32 grace_us) {
  const std::scoped_lock lock(mutex_);
  drop_ended_leases();
  std::set<QueueName> wanted;
  for (const u32 id : ids) {
    const QueueName name = TRY(resolve(id));
    if (!wanted.insert(name).second) {
      return Error{EINVAL, text_of(name) + " is named twice", "name each queue once"};
    }
  }
  for (const Held& held : held_) {
    std::erase_if(wanted, [&](const QueueName& name) { return held.queues.contains(name); });
  }
  return wanted.empty() ? std::string() : stop(wanted, grace_us);
}

Status Session::resume(const std::vector<u32>& ids) {
  const std::scoped_lock lock(mutex_);
  drop_ended_leases();
  std::set<QueueName> wanted;
  for (const u32 id : ids) {
    wanted.insert(TRY(resolve_held(id)));
  }
  std::vector<Held> before = std::move(held_);
  held_.clear();
  Status status = ok();
  for (Held& held : before) {
    std::set<QueueName> rest;
    std::set_difference(held.queues.begin(), held.queues.end(), wanted.begin(), wanted.end(),
                        std::inserter(rest, rest.end()));
    if (rest.size() == held.queues.size()) {
      held_.push_back(std::move(held));
      continue;
    }
    const int result = gpreempt_lease_end(held.lease.get());
    if (result != 0) {
      status = last_failure(result);
    } else if (!rest.empty()) {
      const Result<std::string> again = stop(rest, held.grace_us);
      if (!again) {
        status = again.error();
      }
    }
  }
  return status;
}

void Session::renew_leases() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLease / 4, [this] { return closing_; })) {
    // An end by itself is seen by drop_ended_leases() at the next call.
    for (const Held& held : held_) {
      (void)gpreempt_lease_extend(held.lease.get(), nanoseconds(kLease));
    }
  }
}

}  // namespace gp::compat
