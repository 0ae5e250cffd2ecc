#include "daemon/processes.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/text_table.h"
#include "discover/classify.h"
#include "discover/process_files.h"
#include "os/os.h"

namespace gp::daemon {

using sched::ProcessId;

namespace {

constexpr std::size_t kLongestLine = 200;

// No process can put off the answer.
std::string cgroup_of(pid_t pid) {
  auto text = system_os().read_file(fmt::format("/proc/{}/cgroup", pid));
  return text ? std::move(*text) : std::string();
}

}  // namespace

Processes::~Processes() {
  for (const auto& [id, record] : records_) {
    loop_.remove(record.token);
  }
}

std::optional<ProcessId> Processes::find(pid_t pid) const {
  const auto found = by_pid_.find(pid);
  return found == by_pid_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ProcessId> Processes::find_named_by(const Who& neighbour, pid_t pid) const {
  if (neighbour.shares_our_pids) {
    return find(pid);
  }
  for (const auto& [id, record] : records_) {
    if (record.who.inner_pid == pid && record.who.pid_namespace != 0 &&
        record.who.pid_namespace == neighbour.pid_namespace) {
      return id;
    }
  }
  return std::nullopt;
}

Result<ProcessId> Processes::join(const PeerIdentity& peer, Look look) {
  const Added added = TRY(add(TRY(who_is(peer))));
  if (added.is_new || look == Look::again) {
    look_at(added.id, Onlooker::Patience::a_moment);
  }
  return added.id;
}

// What a rule of the configuration or the environment says; whose agent speaks for it is not seen
// by discovery.
void Processes::look_at(ProcessId id, Onlooker::Patience patience) {
  Record& record = records_.at(id);
  record.cgroup = cgroup_of(record.who.key.pid);
  const Who who = record.who;
  onlooker_.look(who.key.pid, who.payer, patience,
                 [this, id](const Onlooker::Facts& facts) { looked_at(id, facts); });
}

void Processes::looked_at(ProcessId id, const Onlooker::Facts& facts) {
  const auto found = records_.find(id);
  if (found == records_.end() || !facts || facts->key != found->second.who.key) {
    return;  // it has ended: its pidfd tells
  }
  Record& record = found->second;
  discover::Process process;
  process.key = record.who.key;
  process.uid = facts->uid;
  process.command = facts->command;
  std::vector<std::string> warnings;
  discover::classify(process, config_.classes, facts->environ, facts->cgroup, warnings);
  for (const std::string& warning : warnings) {
    if (std::ranges::count(record.warnings, warning) == 0 && may_log(id)) {
      log_warning("process {}: {}", record.who.key.pid, printable(warning.substr(0, kLongestLine)));
    }
  }
  record.warnings = std::move(warnings);
  record.seen = process;
  update(id);
}

bool Processes::may_log(ProcessId id) {
  constexpr std::size_t kMany = 1024;
  const u64 now = monotonic_ns();
  if (log_lines_.size() > kMany) {
    log_lines_.clear();
  }
  sched::Allowance& lines = log_lines_[records_.at(id).who.payer];
  if (lines.next_ns(now, kLinesPerSecond, kLinesAtOnce) > now) {
    return false;
  }
  lines.take(now, kLinesPerSecond, kLinesAtOnce);
  return true;
}

bool Processes::is_idle(ProcessId id) const {
  const std::vector<ProcessId> parts = with_parts(id);
  return std::all_of(parts.begin(), parts.end(),
                     [this](ProcessId part) { return is_idle_part(part); });
}

bool Processes::is_idle_part(ProcessId id) const {
  const sched::Process* process = engine_.find(id);
  return process == nullptr ||
         (!process->has_agent && !process->has_queues() && process->online_marks == 0 &&
          process->phase == sched::Phase::running);
}

// The oldest goes.
void Processes::make_place(const Who& newcomer) {
  std::size_t idle = 0;
  ProcessId oldest = ~ProcessId{0};
  for (const auto& [id, record] : records_) {
    if (record.who.payer == newcomer.payer && is_idle(id)) {
      ++idle;
      oldest = std::min(oldest, id);
    }
  }
  if (idle >= kMostIdle) {
    ended(oldest);
  }
}

Result<Processes::Added> Processes::add(const Who& who) {
  if (const auto known = find(who.key.pid)) {
    Record& record = records_.at(*known);
    if (record.who.key == who.key) {
      correct(*known, record, who);
      return Added{*known, false};
    }
    ended(*known);  // the pid is used again and the end has not been handled yet
  }
  if (records_.size() >= kMostIdle) {
    make_place(who);
  }
  Record record;
  record.who = who;
  record.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, who.key.pid, 0)));
  if (!record.pidfd) {
    return Error{errno, fmt::format("process {}", who.key.pid), ""};
  }
  const ProcessId id = engine_.add_process(monotonic_ns(), facts_of(record));
  auto token = loop_.add(record.pidfd.get(), EPOLLIN, [this, id](u32) { ended(id); });
  if (!token) {
    engine_.remove_process(monotonic_ns(), id);
    return token.error();
  }
  record.token = *token;
  record.cgroup = cgroup_of(who.key.pid);
  by_pid_[who.key.pid] = id;
  records_.emplace(id, std::move(record));
  return Added{id, true};
}

void Processes::correct(ProcessId id, Record& record, const Who& who) {
  const bool other_owner = record.who.owner() != who.owner();
  record.who = who;
  if (other_owner) {
    record.told = {};  // somebody else's words
    record.seen.reset();
    update(id);  // it can put off that it is looked at
    look_at(id, Onlooker::Patience::none);
  }
}

void Processes::ended(ProcessId id) {
  const auto found = records_.find(id);
  if (found != records_.end()) {
    loop_.remove(found->second.token);
    for (const auto& [part, part_id] : found->second.parts) {
      process_of_part_.erase(part_id);
      engine_.remove_process(monotonic_ns(), part_id);
    }
    engine_.remove_process(monotonic_ns(), id);
    by_pid_.erase(found->second.who.key.pid);
    records_.erase(found);
  }
}

bool Processes::may_govern(uid_t uid, const Who& asker, ProcessId id) {
  Record& record = records_.at(id);
  if (const auto who = who_is(record.who.key.pid); who && who->key == record.who.key) {
    correct(id, record, *who);
  }
  Who with_rights = asker;
  with_rights.uid = uid;
  return may_act_on(with_rights.owner(), record.who.owner()) ||
         is_granted(with_rights, &config::Grant::govern_others);
}

void Processes::update(ProcessId id) {
  Record& record = records_.at(id);
  if (!record.parts.empty() && !may_have_parts(record)) {
    log_no_parts(id, record);
    drop_parts(record);
  }
  engine_.set_facts(monotonic_ns(), id, facts_of(record));
  doubt(id, record);
  on_change_(id);
  for (const auto& [part, part_id] : record.parts) {
    engine_.set_facts(monotonic_ns(), part_id, facts_of_part(record, part));
    on_change_(part_id);
  }
}

void Processes::doubt(ProcessId id, Record& record) {
  if (!record.doubted && engine_.is_work_unseen(id)) {
    record.doubted = true;
    doubts_.push_back({id, monotonic_ns() + kAgentPatienceNs});
  }
}

std::optional<u64> Processes::log_unseen(u64 now_ns) {
  while (!doubts_.empty() && doubts_.front().until_ns <= now_ns) {
    const auto found = records_.find(doubts_.front().id);
    if (found != records_.end() && engine_.is_work_unseen(found->first) && may_log(found->first)) {
      log_warning(
          "process {}: online, but nobody can tell when it has work: start it with "
          "gpreempt run",
          found->second.who.key.pid);
    } else if (found != records_.end()) {
      found->second.doubted = false;
    }
    doubts_.pop_front();
  }
  return doubts_.empty() ? std::nullopt : std::optional(doubts_.front().until_ns);
}

void Processes::told(ProcessId id, const ToldFacts& facts) {
  const auto found = records_.find(id);
  if (found != records_.end()) {
    found->second.told = facts;
    update(id);
  }
}

const ToldFacts* Processes::what_was_told(ProcessId id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second.told;
}

void Processes::seen(const SeenProcess& seen) {
  const discover::Process& process = seen.process;
  const auto id = find(process.key.pid);
  if (seen.queues.empty()) {
    if (id && records_.at(*id).who.key == process.key) {
      engine_.set_queues(monotonic_ns(), *id, sched::QueueSource::seen, {}, false);
    }
    return;
  }
  auto who = who_is(process.key.pid);
  if (!who || who->key != process.key) {
    // Whose it is cannot be read: then it is nobody's, and only those who govern others act on it.
    Who nobody;
    nobody.key = process.key;
    nobody.uid = nobody.effective_uid = nobody.payer.uid = static_cast<uid_t>(-1);
    who = nobody;
  }
  const auto added = add(*who);
  if (added) {
    records_.at(added->id).seen = process;
    update(added->id);
    engine_.set_queues(monotonic_ns(), added->id, sched::QueueSource::seen, seen.queues,
                       seen.appeared);
    doubt(added->id, records_.at(added->id));
  }
}

void Processes::refresh() {
  for (const auto& [id, record] : records_) {
    update(id);
    look_at(id, Onlooker::Patience::none);
  }
}

std::optional<Payer> Processes::payer_of(ProcessId id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? std::nullopt : std::optional(found->second.who.payer);
}

const ProcessKey* Processes::key_of(ProcessId id) const {
  const auto part = process_of_part_.find(id);
  const auto found = records_.find(part == process_of_part_.end() ? id : part->second);
  return found == records_.end() ? nullptr : &found->second.who.key;
}

}  // namespace gp::daemon
