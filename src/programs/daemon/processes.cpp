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

// Root and the daemon's own user may all.
bool is_trusted(uid_t uid) { return uid == 0 || uid == ::geteuid(); }

bool applies(const config::Grant& grant, uid_t uid, gid_t gid) {
  return (!grant.uid || *grant.uid == uid) && (!grant.gid || *grant.gid == gid);
}

}  // namespace

Processes::~Processes() {
  for (const auto& [id, record] : records_) {
    loop_.remove(record.token);
  }
}

std::optional<ProcessId> Processes::find(pid_t pid) const {
  for (const auto& [id, record] : records_) {
    if (record.key.pid == pid) {
      return id;
    }
  }
  return std::nullopt;
}

Result<ProcessId> Processes::join(pid_t pid, uid_t uid, gid_t gid) {
  const ProcessKey key = TRY(discover::process_key(system_os(), {}, pid));
  const ProcessId id = TRY(add(key, uid, gid));
  look_at(records_.at(id));
  return id;
}

// What a rule of the configuration or the environment says; whose agent speaks for it is not seen
// by discovery.
void Processes::look_at(Record& record) const {
  const auto facts = discover::read_process(system_os(), "/proc", record.key.pid, true);
  if (!facts) {
    return;  // it has ended: its pidfd tells
  }
  discover::Process process;
  process.key = record.key;
  process.uid = facts->uid;
  process.command = facts->command;
  std::vector<std::string> warnings;
  discover::classify(process, config_.classes, facts->environ, facts->cgroup, warnings);
  for (const std::string& warning : warnings) {
    log_warning("process {}: {}", record.key.pid, warning);
  }
  record.seen = process;
}

Result<ProcessId> Processes::add(const ProcessKey& key, uid_t uid, gid_t gid) {
  if (const auto known = find(key.pid)) {
    Record& record = records_.at(*known);
    if (record.key == key) {
      record.gid = gid;
      return *known;
    }
    ended(*known);  // the pid is used again and the end has not been handled yet
  }
  Record record;
  record.key = key;
  record.uid = uid;
  record.gid = gid;
  record.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, key.pid, 0)));
  if (!record.pidfd) {
    return Error{errno, fmt::format("process {}", key.pid), ""};
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
  facts.key = record.key;
  facts.uid = record.uid;
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
  if (record.told.work_class) {
    facts.work_class = *record.told.work_class;
    facts.class_source = ClassSource::run_command;
  } else if (record.told.priority && facts.class_source < ClassSource::environment) {
    facts.class_source = ClassSource::environment;
    facts.work_class = facts.priority >= classes.online_from  ? WorkClass::online
                       : facts.priority <= classes.offline_to ? WorkClass::offline
                                                              : WorkClass::normal;
  }
  if (!record.told.priority && facts.class_source != ClassSource::none) {
    // The level that goes with the class, for the policy `priority`.
    facts.priority = facts.work_class == WorkClass::online    ? classes.online_from
                     : facts.work_class == WorkClass::offline ? classes.offline_to
                                                              : kUsualPriority;
  }
  facts.governs_others =
      is_trusted(record.uid) ||
      std::any_of(config_.grants.begin(), config_.grants.end(), [&](const config::Grant& grant) {
        return grant.preempt_others && applies(grant, record.uid, record.gid);
      });
  return facts;
}

bool Processes::may_govern_others(uid_t uid, gid_t gid) const {
  return is_trusted(uid) ||
         std::any_of(config_.grants.begin(), config_.grants.end(), [&](const config::Grant& grant) {
           return grant.govern_others && applies(grant, uid, gid);
         });
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
  auto id = find(process.key.pid);
  if (seen.queues.empty()) {
    if (id && records_.at(*id).key == process.key) {
      engine_.set_queues(monotonic_ns(), *id, sched::QueueSource::seen, {}, false);
    }
    return;
  }
  constexpr gid_t kNoGroup = static_cast<gid_t>(-1);
  const gid_t gid = id ? records_.at(*id).gid : kNoGroup;
  // Whose it is cannot be read: then it is nobody's, and only those who govern others act on it.
  const auto added = add(process.key, process.uid.value_or(static_cast<uid_t>(-1)), gid);
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
  return found == records_.end() ? nullptr : &found->second.key;
}

uid_t Processes::owner_of(ProcessId id) const { return records_.at(id).uid; }

}  // namespace gp::daemon
