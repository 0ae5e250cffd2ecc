#include "daemon/processes.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "discover/classify.h"
#include "discover/process_files.h"
#include "os/os.h"

namespace gp::daemon {

using discover::ClassSource;
using sched::ProcessId;

namespace {

constexpr u32 kUsualPriority = 7;  // what ROCr gives every stream

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

}  // namespace

Processes::~Processes() {
  for (const auto& [id, record] : records_) {
    loop_.remove(record.token);
  }
}

std::optional<ProcessId> Processes::find(pid_t pid) const {
  for (const auto& [id, record] : records_) {
    if (record.who.key.pid == pid) {
      return id;
    }
  }
  return std::nullopt;
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

Result<ProcessId> Processes::join(const PeerIdentity& peer) {
  const ProcessId id = TRY(add(TRY(who_is(peer))));
  look_at(records_.at(id));
  return id;
}

// What a rule of the configuration or the environment says; whose agent speaks for it is not seen
// by discovery.
void Processes::look_at(Record& record) const {
  const auto facts = discover::read_process(system_os(), "/proc", record.who.key.pid, true);
  if (!facts) {
    return;  // it has ended: its pidfd tells
  }
  discover::Process process;
  process.key = record.who.key;
  process.uid = facts->uid;
  process.command = facts->command;
  std::vector<std::string> warnings;
  discover::classify(process, config_.classes, facts->environ, facts->cgroup, warnings);
  for (const std::string& warning : warnings) {
    log_warning("process {}: {}", record.who.key.pid, warning);
  }
  record.seen = process;
}

Result<ProcessId> Processes::add(const Who& who) {
  if (const auto known = find(who.key.pid)) {
    Record& record = records_.at(*known);
    if (record.who.key == who.key) {
      correct(*known, record, who);
      return *known;
    }
    ended(*known);  // the pid is used again and the end has not been handled yet
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
  records_.emplace(id, std::move(record));
  return id;
}

void Processes::correct(ProcessId id, Record& record, const Who& who) {
  const bool other_owner = record.who.uid != who.uid;
  record.who = who;
  if (other_owner) {
    record.told = {};  // somebody else's words
    update(id);
  }
}

void Processes::ended(ProcessId id) {
  const auto found = records_.find(id);
  if (found != records_.end()) {
    loop_.remove(found->second.token);
    engine_.remove_process(monotonic_ns(), id);
    records_.erase(id);
  }
}

sched::ProcessFacts Processes::facts_of(const Record& record) const {
  sched::ProcessFacts facts;
  facts.key = record.who.key;
  facts.uid = record.who.uid;
  facts.job = record.told.job;
  facts.tag = record.told.tag;
  facts.agent_refusal = record.told.agent_refusal;
  facts.latency_target_ns = record.told.latency_target_ns;
  const discover::ClassConfig& classes = config_.classes;
  facts.priority = record.told.priority.value_or(kUsualPriority);
  if (record.seen) {
    facts.command = record.seen->command;
    facts.tag = facts.tag.empty() ? record.seen->tag : facts.tag;
    facts.work_class = record.seen->work_class;
    facts.class_source = record.seen->class_source;
  }
  const bool is_enforced = facts.class_source == ClassSource::enforced;
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
    // The level that goes with the class, for the policy `priority`.
    facts.priority = facts.work_class == WorkClass::online    ? classes.online_from
                     : facts.work_class == WorkClass::offline ? classes.offline_to
                                                              : kUsualPriority;
  }
  facts.governs_others = is_granted(record.who, &config::Grant::preempt_others);
  return facts;
}

bool Processes::limit_class(const Who& who, sched::ProcessFacts& facts) const {
  const auto found =
      std::find_if(config_.access.begin(), config_.access.end(),
                   [&](const config::Access& entry) { return applies(entry.who, who); });
  if (found == config_.access.end() || is_trusted(who) ||
      std::find(found->classes.begin(), found->classes.end(), facts.work_class) !=
          found->classes.end()) {
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
  const bool is_owner = record.who.uid == uid && (!is_trusted(record.who) || asker.is_at_home);
  return is_owner || is_granted(with_rights, &config::Grant::govern_others);
}

void Processes::update(ProcessId id) {
  engine_.set_facts(monotonic_ns(), id, facts_of(records_.at(id)));
  on_change_(id);
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
    nobody.uid = nobody.effective_uid = static_cast<uid_t>(-1);
    who = nobody;
  }
  const auto added = add(*who);
  if (added) {
    records_.at(*added).seen = process;
    update(*added);
    engine_.set_queues(monotonic_ns(), *added, sched::QueueSource::seen, seen.queues,
                       seen.appeared);
  }
}

void Processes::refresh() {
  for (auto& [id, record] : records_) {
    look_at(record);
    update(id);
  }
}

const ProcessKey* Processes::key_of(ProcessId id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second.who.key;
}

}  // namespace gp::daemon
