// What a process is: from what it says, what is seen of it, and what an administrator says of its
// user.
#include <unistd.h>

#include <algorithm>

#include "daemon/processes.h"
#include "discover/classify.h"
#include "wire/wire.h"

namespace gp::daemon {

using discover::ClassSource;

namespace {

constexpr u32 kUsualPriority = 7;  // what ROCr gives every stream
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

// What limits a user limits their subordinate users, too.
bool limits(const config::Grant& entry, const Who& who) {
  Who master = who;
  master.uid = who.master();
  return applies(entry, who) || applies(entry, master);
}

}  // namespace

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

}  // namespace gp::daemon
