// Parts of processes (model/part.h): for the engine each is a process like any other.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "daemon/processes.h"

namespace gp::daemon {

using discover::ClassSource;
using sched::ProcessId;

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
    record.parts_refused = true;
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

bool Processes::takes_parts_again(ProcessId id) {
  const auto found = records_.find(id);
  if (found == records_.end() || !found->second.parts_refused || !may_have_parts(found->second)) {
    return false;
  }
  found->second.parts_refused = false;
  return true;
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
  record.parts_refused = true;
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

}  // namespace gp::daemon
