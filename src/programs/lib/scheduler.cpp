#include "lib/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "lib/boundary.h"
#include "lib/context.h"

namespace gp::lib {
namespace {

constexpr std::chrono::milliseconds kPatience(1000);

// The connection has ended, or is of no use any more; otherwise it is the daemon that has refused.
bool is_broken(const Error& error) {
  return error.code == EPIPE || error.code == ECONNRESET || error.code == ENOTCONN ||
         error.code == EPROTO || error.code == ETIMEDOUT;
}

u64 microseconds_rounded_up(u64 ns) { return ns / 1000 + (ns % 1000 != 0 ? 1 : 0); }

template <std::size_t N>
Status put_text(char (&field)[N], const char* text, const char* name) {
  if (text == nullptr) {
    return ok();
  }
  if (std::strlen(text) >= N) {
    return Error{ENAMETOOLONG, fmt::format("{} '{}'", name, text),
                 fmt::format("at most {} bytes", N - 1)};
  }
  wire::set_text(field, text);
  return ok();
}

Result<u32> class_code(u32 number) {
  if (number == 0) {
    return wire::kClassUnset;
  }
  if (const auto work_class = work_class_of(number)) {
    return wire::code_of(*work_class);
  }
  return Error{EINVAL, fmt::format("class {}", number), "GPREEMPT_CLASS_ONLINE, ..."};
}

Result<wire::SetJob> job_message(const gpreempt_job_options* given) {
  const gpreempt_job_options options = TRY(read_options(given, "gpreempt_job_options"));
  if (options.pid < 0 || options.priority > 15 ||
      (options.has_priority == 0 && options.priority != 0)) {
    return Error{EINVAL, "gpreempt_set_job: a negative pid, or a priority that is none",
                 "priorities are 0 to 15 and need has_priority"};
  }
  wire::SetJob message;
  message.pid = static_cast<u32>(options.pid);
  message.work_class = TRY(class_code(options.work_class));
  message.priority = options.has_priority != 0 ? options.priority : wire::kPriorityUnset;
  message.latency_target_us = microseconds_rounded_up(options.latency_target_ns);
  TRY(put_text(message.job, options.job, "job"));
  TRY(put_text(message.tag, options.tag, "tag"));
  return message;
}

}  // namespace

Status Scheduler::connect() {
  wire::Client client = TRY(wire::Client::connect(socket_));
  TRY(client.set_timeout(kPatience));
  for (const wire::OnlineMark& mark : marks_) {
    TRY(client.ask(mark));
  }
  client_.emplace(std::move(client));
  return ok();
}

Status Scheduler::ask(const Question& question) {
  const bool was_connected = client_.has_value();
  if (!was_connected) {
    TRY(connect());
  }
  Status answer = question(*client_);
  if (answer || !is_broken(answer.error())) {
    return answer;
  }
  client_.reset();
  if (!was_connected || answer.error().code == ETIMEDOUT) {
    return answer;
  }
  TRY(connect());
  answer = question(*client_);
  if (!answer && is_broken(answer.error())) {
    client_.reset();
  }
  return answer;
}

Status Scheduler::online_begin(u64 latency_target_ns) {
  wire::OnlineMark mark;
  mark.deadline_us = microseconds_rounded_up(latency_target_ns);
  const std::scoped_lock lock(mutex_);
  Status begun = ask([&](wire::Client& client) { return client.ask(mark); });
  if (begun) {
    marks_.push_back(mark);
  }
  return begun;
}

// A connection that is lost has taken the mark along, and a new one makes only those before it.
Status Scheduler::online_end() {
  const std::scoped_lock lock(mutex_);
  if (marks_.empty()) {
    return Error{EINVAL, "gpreempt_online_end without gpreempt_online_begin", ""};
  }
  marks_.pop_back();
  if (!client_) {
    return ok();
  }
  wire::OnlineMark end;
  end.header.kind = wire::Kind::online_end;
  Status ended = client_->ask(end);
  if (ended || !is_broken(ended.error())) {
    return ended;
  }
  client_.reset();
  return ok();
}

Status Scheduler::set_job(const wire::SetJob& job) {
  const std::scoped_lock lock(mutex_);
  return ask([&](wire::Client& client) { return client.ask(job); });
}

Result<std::string> Scheduler::status_json() {
  std::string json;
  const std::scoped_lock lock(mutex_);
  TRY(ask([&](wire::Client& client) -> Status {
    json = TRY(client.text(wire::Kind::status));
    return ok();
  }));
  return json;
}

namespace {

// For all four: checks the handle, asks, and tells C what became of it.
int tell_scheduler(const gpreempt_context* context,
                   const std::function<Status(Scheduler&)>& question) {
  return guarded([&]() -> int {
    Status status = check_usable(context != nullptr ? context->leases.get() : nullptr);
    if (status) {
      status = question(*context->scheduler);
    }
    return status ? 0 : fail(status.error());
  });
}

}  // namespace
}  // namespace gp::lib

using namespace gp::lib;

int gpreempt_online_begin(gpreempt_context* context, uint64_t latency_target_ns) {
  return tell_scheduler(
      context, [&](Scheduler& scheduler) { return scheduler.online_begin(latency_target_ns); });
}

int gpreempt_online_end(gpreempt_context* context) {
  return tell_scheduler(context, [](Scheduler& scheduler) { return scheduler.online_end(); });
}

int gpreempt_set_job(gpreempt_context* context, const gpreempt_job_options* options) {
  return tell_scheduler(context, [&](Scheduler& scheduler) -> gp::Status {
    return scheduler.set_job(TRY(job_message(options)));
  });
}

ssize_t gpreempt_status_json(gpreempt_context* context, char* text, size_t capacity) {
  std::string json;
  const int told = tell_scheduler(context, [&](Scheduler& scheduler) -> gp::Status {
    if (text == nullptr && capacity != 0) {
      return gp::Error{EINVAL, "gpreempt_status_json: no place for the text", ""};
    }
    json = TRY(scheduler.status_json());
    return gp::ok();
  });
  if (told != 0) {
    return told;
  }
  if (capacity != 0) {
    const std::size_t length = std::min(json.size(), capacity - 1);
    std::copy_n(json.data(), length, text);
    text[length] = '\0';
  }
  return static_cast<ssize_t>(json.size());
}
