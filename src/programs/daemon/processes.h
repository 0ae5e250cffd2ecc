// The processes the daemon knows: what their agents told and what was seen from outside, made into
// one set of facts for the engine. Knows of the end of each by its pidfd.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "config/config.h"
#include "daemon/discovery.h"
#include "daemon/loop.h"
#include "sched/engine.h"

namespace gp::daemon {

// What a process, or somebody who governs it, said about it.
struct ToldFacts {
  std::optional<WorkClass> work_class;
  std::optional<u32> priority;
  std::optional<u64> latency_target_ns;
  std::string tag, job;
  std::string agent_refusal;  // why no agent works in it; empty: one does, or none has tried
};

class Processes {
 public:
  Processes(Loop& loop, sched::Engine& engine, const config::Config& config)
      : loop_(loop), engine_(engine), config_(config) {}
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();

  // Called when what is known of a process has changed, the engine being told: its job may be of
  // another class now.
  void set_on_change(std::function<void(sched::ProcessId)> on_change) {
    on_change_ = std::move(on_change);
  }

  // The process, known from now on. ESRCH if it has gone.
  Result<sched::ProcessId> join(pid_t pid, uid_t uid, gid_t gid);
  void told(sched::ProcessId id, const ToldFacts& facts);
  const ToldFacts* what_was_told(sched::ProcessId id) const;
  void seen(const SeenProcess& process);
  // The configuration has changed.
  void refresh();

  const ProcessKey* key_of(sched::ProcessId id) const;
  std::optional<sched::ProcessId> find(pid_t pid) const;
  uid_t owner_of(sched::ProcessId id) const;
  // Whether a user may act on processes of others.
  bool may_govern_others(uid_t uid, gid_t gid) const;

 private:
  struct Record {
    ProcessKey key;
    uid_t uid = 0;
    gid_t gid = 0;
    UniqueFd pidfd;
    Loop::Token token = 0;
    ToldFacts told;
    std::optional<discover::Process> seen;
  };
  Result<sched::ProcessId> add(const ProcessKey& key, uid_t uid, gid_t gid);
  sched::ProcessFacts facts_of(const Record& record) const;
  void look_at(Record& record) const;
  void update(sched::ProcessId id);
  void ended(sched::ProcessId id);

  Loop& loop_;
  sched::Engine& engine_;
  const config::Config& config_;
  std::function<void(sched::ProcessId)> on_change_ = [](sched::ProcessId) {};
  std::unordered_map<sched::ProcessId, Record> records_;
};

}  // namespace gp::daemon
