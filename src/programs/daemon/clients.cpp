#include "daemon/clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text_table.h"
#include "daemon/status_json.h"

namespace gp::daemon {

using sched::ProcessId;
using wire::Kind;

namespace {

constexpr u64 kLongestHoldNs = 24ULL * 3600 * 1'000'000'000;
constexpr std::size_t kMostMarks = 1024;  // of one connection

Error bad_message() { return Error{EINVAL, "the message has the wrong length", ""}; }

}  // namespace

bool Clients::on_message(Peer& peer, const wire::Header& header, std::span<const u8> message) {
  Status status = ok();
  switch (header.kind) {
    case Kind::status:
      peers_->send_text(peer.id, status_json(engine_, *driver_, monotonic_ns(), peers_->count()),
                        header.sequence);
      return true;
    case Kind::trace:
      if (traces_.begin(peer.id, header.sequence)) {
        return true;
      }
      status = Error{EBUSY, "one trace at a time", ""};
      break;
    case Kind::online_begin: status = mark(peer, message, true); break;
    case Kind::online_end: status = mark(peer, message, false); break;
    case Kind::set_job: status = set_job(peer, message); break;
    case Kind::resume: status = resume(peer, message); break;
    case Kind::suspend: {
      const auto later = suspend(peer, message);
      if (later && *later) {
        return true;
      }
      status = later ? ok() : Status(later.error());
      break;
    }
    default: return false;
  }
  const Error error = status ? Error{} : status.error();
  peers_->send_result(
      peer.id, header.sequence, error.code,
      error.hint.empty() ? error.what : fmt::format("{}\n{}", error.what, error.hint));
  return true;
}

// The engine never uses an id again: one that it still has is of the process that joined by it.
Result<ProcessId> Clients::sender(Peer& peer) {
  if (!peer.process || processes_.key_of(*peer.process) == nullptr) {
    peer.process = TRY(processes_.join(peer.who));
  }
  return *peer.process;
}

Result<ProcessId> Clients::target(Peer& peer, u32 pid) {
  const Who asker = TRY(who_is(peer.who));
  const auto named = static_cast<pid_t>(pid);
  if (pid == 0 || named == asker.inner_pid) {
    return processes_.join(peer.who);
  }
  const auto known = processes_.find_named_by(asker, named);
  if (!known) {
    return Error{ESRCH, fmt::format("process {} has no GPU queues", pid), ""};
  }
  if (!processes_.may_govern(peer.who.uid, asker, *known)) {
    return Error{EPERM, fmt::format("process {} belongs to another user", pid),
                 "the administrator can grant govern_others in gpreemptd.toml"};
  }
  return *known;
}

Status Clients::mark(Peer& peer, std::span<const u8> message, bool begin) {
  const auto mark = wire::decode<wire::OnlineMark>(message);
  if (!mark) {
    return bad_message();
  }
  const ProcessId process = TRY(sender(peer));
  const auto same = [&](const Mark& each) {
    return each.peer == peer.id && each.process == process;
  };
  if (!begin) {
    const auto found = std::find_if(marks_.begin(), marks_.end(), same);
    if (found == marks_.end()) {
      return Error{EINVAL, "online_end without online_begin", ""};
    }
    marks_.erase(found);
    engine_.online_end(monotonic_ns(), process);
    return ok();
  }
  if (std::count_if(marks_.begin(), marks_.end(), same) >= static_cast<long>(kMostMarks)) {
    return Error{ENOSPC, "too many online_begin without online_end", ""};
  }
  // Who says that its work is online, and has not said anything else, is online.
  const sched::Process* known = engine_.find(process);
  if (known != nullptr && known->facts.class_source < discover::ClassSource::environment) {
    ToldFacts facts = *processes_.what_was_told(process);
    facts.work_class = WorkClass::online;
    processes_.told(process, facts);
  }
  marks_.push_back({peer.id, process});
  std::optional<u64> target_ns;
  if (mark->deadline_us != 0) {
    target_ns = std::min(mark->deadline_us, kLongestHoldNs / 1000) * 1000;
  }
  engine_.online_begin(monotonic_ns(), process, target_ns);
  return ok();
}

Status Clients::set_job(Peer& peer, std::span<const u8> message) {
  const auto request = wire::decode<wire::SetJob>(message);
  if (!request) {
    return bad_message();
  }
  const ProcessId process = TRY(target(peer, request->pid));
  ToldFacts facts = *processes_.what_was_told(process);
  if (request->work_class != wire::kClassUnset) {
    facts.work_class = wire::class_of(request->work_class);
    if (!facts.work_class) {
      return Error{EINVAL, "there is no such class", ""};
    }
  }
  if (request->priority <= 15) {
    facts.priority = request->priority;
  } else if (request->priority != wire::kPriorityUnset) {
    return Error{EINVAL, "priorities are 0 to 15", ""};
  }
  if (request->latency_target_us != 0) {
    facts.latency_target_ns = std::min(request->latency_target_us, kLongestHoldNs / 1000) * 1000;
  }
  if (request->tag[0] != '\0') {
    facts.tag = printable(std::string(wire::text_of(request->tag)));
  }
  if (request->job[0] != '\0') {
    facts.job = printable(std::string(wire::text_of(request->job)));
  }
  processes_.told(process, facts);
  return ok();
}

// The one that is named comes first.
std::vector<ProcessId> Clients::all_with(ProcessId process) const {
  std::vector<ProcessId> all = processes_.with_parts(process);
  for (const sched::Process* each : engine_.find_job(process)->processes) {
    if (each->id != process) {
      const std::vector<ProcessId> parts = processes_.with_parts(each->id);
      all.insert(all.end(), parts.begin(), parts.end());
    }
  }
  return all;
}

Result<bool> Clients::suspend(Peer& peer, std::span<const u8> message) {
  const auto request = wire::decode<wire::Suspend>(message);
  if (!request) {
    return bad_message();
  }
  if (request->duration_ns == 0 || request->duration_ns > kLongestHoldNs) {
    return Error{EINVAL, "a stop needs a duration of at most 24 hours", ""};
  }
  const ProcessId process = TRY(target(peer, request->pid));
  const std::vector<ProcessId> all = all_with(process);
  const bool has_queues = std::any_of(all.begin(), all.end(), [this](ProcessId each) {
    const sched::Process* part = engine_.find(each);
    return part != nullptr && part->has_queues();
  });
  if (!has_queues) {
    return Error{ESRCH, fmt::format("process {} has no GPU queues", request->pid), ""};
  }
  const u64 now = monotonic_ns();
  Waiting waiting{peer.id, request->header.sequence, {}};
  for (const ProcessId each : all) {
    waiting.parts.push_back({each, engine_.find_job(each)->failures});
    engine_.hold(now, each, peer.id, now + request->duration_ns);
  }
  waiting_.push_back(std::move(waiting));
  return true;
}

Status Clients::resume(Peer& peer, std::span<const u8> message) {
  const auto request = wire::decode<wire::Resume>(message);
  if (!request) {
    return bad_message();
  }
  const ProcessId process = TRY(target(peer, request->pid));
  for (const ProcessId each : all_with(process)) {
    engine_.release(monotonic_ns(), peer.id, each);
  }
  return ok();
}

std::optional<Error> Clients::outcome(const Waiting& waiting) const {
  bool all = true;
  for (const Waiting::Part& part : waiting.parts) {
    const sched::Job* job = engine_.find_job(part.process);
    if (job == nullptr && &part == &waiting.parts.front()) {
      return Error{ESRCH, "the process has ended", ""};
    }
    if (job == nullptr) {
      continue;  // it has no such queues any more
    }
    if (job->failures != part.failures_before) {
      return Error{EOPNOTSUPP, job->error, ""};
    }
    if (!job->down) {
      return Error{ETIMEDOUT, "it ended before it was in effect", ""};
    }
    all = all && job->arrived;
  }
  return all ? std::optional(Error{}) : std::nullopt;
}

// All of a process or none.
void Clients::release(const Waiting& waiting) {
  for (const Waiting::Part& part : waiting.parts) {
    engine_.release(monotonic_ns(), waiting.peer, part.process);
  }
}

bool Clients::settle() {
  bool released = false;
  std::erase_if(waiting_, [&](const Waiting& each) {
    const std::optional<Error> answer = outcome(each);
    if (answer && answer->code != 0) {
      release(each);
      released = true;
    }
    if (answer) {
      peers_->send_result(each.peer, each.sequence, answer->code, answer->what);
    }
    return answer.has_value();
  });
  return released;
}

void Clients::on_closed(PeerId id) {
  const u64 now = monotonic_ns();
  engine_.release(now, id, std::nullopt);
  traces_.forget(id);
  std::erase_if(waiting_, [id](const Waiting& each) { return each.peer == id; });
  std::erase_if(marks_, [&](const Mark& each) {
    if (each.peer == id) {
      engine_.online_end(now, each.process);
    }
    return each.peer == id;
  });
}

}  // namespace gp::daemon
