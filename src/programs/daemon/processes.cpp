#include "daemon/processes.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/stat.h>
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
#include "wire/wire.h"

namespace gp::daemon {

using discover::ClassSource;
using sched::ProcessId;

namespace {

constexpr u32 kUsualPriority = 7;  // what ROCr gives every stream
constexpr std::size_t kLongestLine = 200;
constexpr std::size_t kLongestTag = sizeof(wire::Hello::tag) - 1;

// Root and the daemon's own user may all. Root of a container is not root: it is there by grace of
// whoever has given it a part of the machine.
bool is_trusted(const Who& who) {
  return who.is_at_home && (who.uid == 0 || who.uid == ::geteuid());
}

bool applies(const config::Grant& grant, const Who& who) {
  return (!grant.uid || *grant.uid == who.uid) &&
         (!grant.gid ||
          std::find(who.groups.begin(), who.groups.end(), *grant.gid) != who.groups.end());
}

// No process can put off the answer.
std::string cgroup_of(pid_t pid) {
  auto text = system_os().read_file(fmt::format("/proc/{}/cgroup", pid));
  return text ? std::move(*text) : std::string();
}

// What limits a user limits their subordinate users, too.
bool limits(const config::Grant& entry, const Who& who) {
  Who master = who;
  master.uid = who.master();
  return applies(entry, who) || applies(entry, master);
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

Result<ProcessId> Processes::join_part(const PeerIdentity& peer, Part part) {
  const ProcessId whole = TRY(join(peer));
  Record& record = records_.at(whole);
  if (part == Part::rest) {
    return whole;
  }
  if (const auto known = record.parts.find(part); known != record.parts.end()) {
    return known->second;
  }
  if (!may_have_parts(record)) {
    log_no_parts(whole, record);
    return Error{EPERM, "an administrator's rule says what the process is", ""};
  }
  const ProcessId id = engine_.add_process(monotonic_ns(), facts_of_part(record, part));
  record.parts[part] = id;
  process_of_part_[id] = whole;
  hold_as(whole, id);
  update(whole);  // it has parts now
  return id;
}

// A client holds all of a process, and what comes to it later.
void Processes::hold_as(ProcessId whole, ProcessId part) {
  const std::vector<sched::Hold> holds = engine_.find_job(whole)->holds;
  for (const sched::Hold& hold : holds) {
    if (hold.holder != sched::Hold::kRoom) {
      engine_.hold(monotonic_ns(), part, hold.holder, hold.until_ns);
    }
  }
}

void Processes::log_no_parts(ProcessId id, Record& record) {
  if (!record.logged_no_parts && may_log(id)) {
    record.logged_no_parts = true;
    log_info("process {}: its streams are all of one class, by a rule that is enforced",
             record.who.key.pid);
  }
}

void Processes::leave_part(ProcessId part) {
  const auto found = process_of_part_.find(part);
  if (found == process_of_part_.end()) {
    return;
  }
  const ProcessId whole = found->second;
  std::erase_if(records_.at(whole).parts, [&](const auto& entry) { return entry.second == part; });
  process_of_part_.erase(found);
  engine_.remove_process(monotonic_ns(), part);
  update(whole);
}

std::vector<ProcessId> Processes::with_parts(ProcessId id) const {
  std::vector<ProcessId> ids = {id};
  if (const auto found = records_.find(id); found != records_.end()) {
    for (const auto& [part, each] : found->second.parts) {
      ids.push_back(each);
    }
  }
  return ids;
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

sched::ProcessFacts Processes::facts_of(const Record& record) const {
  sched::ProcessFacts facts;
  facts.key = record.who.key;
  facts.owner = record.who.owner();
  facts.job = record.told.job;
  facts.tag = record.told.tag;
  facts.agent_refusal = record.told.agent_refusal;
  facts.latency_target_ns = record.told.latency_target_ns;
  const discover::ClassConfig& classes = config_.classes;
  facts.priority = record.told.priority.value_or(kUsualPriority);
  if (record.seen) {
    facts.command = record.seen->command;
    facts.tag = facts.tag.empty() ? record.seen->tag.substr(0, kLongestTag) : facts.tag;
    facts.work_class = record.seen->work_class;
    facts.class_source = record.seen->class_source;
  }
  const bool is_enforced = enforce_class(record, facts);
  if (record.told.work_class && !is_enforced) {
    facts.work_class = *record.told.work_class;
    facts.class_source = ClassSource::run_command;
  } else if (record.told.priority && facts.class_source < ClassSource::environment) {
    facts.class_source = ClassSource::environment;
    facts.work_class = facts.priority >= classes.online_from  ? WorkClass::online
                       : facts.priority <= classes.offline_to ? WorkClass::offline
                                                              : WorkClass::normal;
  }
  const bool is_limited = limit_class(record.who, facts);
  if ((!record.told.priority || is_limited || is_enforced) &&
      facts.class_source != ClassSource::none) {
    set_level(facts);
  }
  facts.has_parts = !record.parts.empty();
  facts.governs_others = is_granted(record.who, &config::Grant::preempt_others);
  return facts;
}

// Whatever else is known by now: a process can put off that its environment is read, and a rule for
// its user or its cgroup does not wait for that.
bool Processes::enforce_class(const Record& record, sched::ProcessFacts& facts) const {
  discover::Process process;
  process.uid = record.who.uid;
  process.command = facts.command;
  const auto enforced = discover::enforced_class(process, config_.classes, record.cgroup);
  facts.work_class = enforced.value_or(facts.work_class);
  facts.class_source = enforced ? ClassSource::enforced : facts.class_source;
  return enforced.has_value();
}

// The level that goes with the class, for the policy `priority`.
void Processes::set_level(sched::ProcessFacts& facts) const {
  const discover::ClassConfig& classes = config_.classes;
  facts.priority = facts.work_class == WorkClass::online    ? classes.online_from
                   : facts.work_class == WorkClass::offline ? classes.offline_to
                                                            : kUsualPriority;
}

// Only what the agent of a process offers can stop its parts, and an agent can lie. So parts are
// for those who may be online: they could call themselves that and would never be stopped either.
bool Processes::may_have_parts(const Record& record) const {
  const config::Access* limit = limit_of(record.who);
  const bool may_be_online =
      limit == nullptr || std::ranges::count(limit->classes, WorkClass::online) != 0;
  return may_be_online && facts_of(record).class_source != ClassSource::enforced;
}

// They are of the rest again, by their agent's doing, once their connections have ended.
void Processes::drop_parts(Record& record) {
  const std::map<Part, ProcessId> parts = std::exchange(record.parts, {});
  for (const auto& [part, id] : parts) {
    process_of_part_.erase(id);
    engine_.remove_process(monotonic_ns(), id);
    on_change_(id);
  }
}

// As the process, but for what its queues have been called. In a named job the parts of one class
// are together, across its processes.
sched::ProcessFacts Processes::facts_of_part(const Record& record, Part part) const {
  sched::ProcessFacts facts = facts_of(record);
  facts.part = part;
  facts.has_parts = true;
  if (!facts.job.empty()) {
    facts.job += fmt::format(" ({})", name(*class_of(part)));
  }
  facts.work_class = *class_of(part);
  facts.class_source = ClassSource::run_command;
  limit_class(record.who, facts);
  set_level(facts);
  return facts;
}

const config::Access* Processes::limit_of(const Who& who) const {
  const auto found =
      std::find_if(config_.access.begin(), config_.access.end(),
                   [&](const config::Access& entry) { return limits(entry.who, who); });
  return found == config_.access.end() || is_trusted(who) ? nullptr : &*found;
}

bool Processes::limit_class(const Who& who, sched::ProcessFacts& facts) const {
  const config::Access* found = limit_of(who);
  if (found == nullptr || std::ranges::count(found->classes, facts.work_class) != 0) {
    return false;
  }
  facts.work_class = found->classes.front();
  facts.class_source = ClassSource::enforced;
  return true;
}

bool Processes::is_granted(const Who& who, bool config::Grant::*what) const {
  return is_trusted(who) ||
         std::any_of(config_.grants.begin(), config_.grants.end(), [&](const config::Grant& grant) {
           return grant.*what && applies(grant, who);
         });
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
