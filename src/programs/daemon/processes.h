// The processes the daemon knows: what their agents told and what was seen from outside, made into
// one set of facts for the engine. Knows of the end of each by its pidfd.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "daemon/discovery.h"
#include "daemon/loop.h"
#include "daemon/onlooker.h"
#include "daemon/who.h"
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
  Processes(Loop& loop, sched::Engine& engine, const config::Config& config,
            Onlooker::Read read = Onlooker::read_files)
      : loop_(loop), engine_(engine), config_(config), onlooker_(loop, std::move(read)) {}
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();

  // Called when what is known of a process has changed, the engine being told: its job may be of
  // another class now.
  void set_on_change(std::function<void(sched::ProcessId)> on_change) {
    on_change_ = std::move(on_change);
  }

  // The process that has made a connection, known from now on; errors as of who_is(). It is looked
  // at when it is new, and again if it may be another program by now.
  enum class Look { if_new, again };
  Result<sched::ProcessId> join(const PeerIdentity& peer, Look look = Look::if_new);
  // A part of it (model/part.h), which lasts until leave_part(), or until an administrator says
  // what the process is: on_change is then called for a part that there is not. `rest` is the
  // process itself. EPERM: it may have none.
  Result<sched::ProcessId> join_part(const PeerIdentity& peer, Part part);
  void leave_part(sched::ProcessId part);
  // True once when a process may have parts that it might not have when they were asked for.
  bool takes_parts_again(sched::ProcessId id);
  // The process and its parts.
  std::vector<sched::ProcessId> with_parts(sched::ProcessId id) const;
  void told(sched::ProcessId id, const ToldFacts& facts);
  const ToldFacts* what_was_told(sched::ProcessId id) const;
  void seen(const SeenProcess& process);
  // The configuration has changed.
  void refresh();

  const ProcessKey* key_of(sched::ProcessId id) const;
  // Who pays for a process; not of a part.
  std::optional<Payer> payer_of(sched::ProcessId id) const;
  std::optional<sched::ProcessId> find(pid_t pid) const;
  // The one that `neighbour` calls `pid`: it may live in a pid namespace of its own, with numbers
  // of its own.
  std::optional<sched::ProcessId> find_named_by(const Who& neighbour, pid_t pid) const;
  // Whether a user may act on a process: as its owner, whom the kernel is asked for, or by grant.
  bool may_govern(uid_t uid, const Who& asker, sched::ProcessId id);
  // Whether there may be one more line in the log because of this process: what a user can bring
  // about there has a rate.
  bool may_log(sched::ProcessId id);
  // Says of online processes whose work nobody sees that it is so. When to call it next.
  std::optional<u64> log_unseen(u64 now_ns);

 private:
  struct Record {
    Who who;
    UniqueFd pidfd;
    Loop::Token token = 0;
    ToldFacts told;
    std::string cgroup;
    std::optional<discover::Process> seen;
    std::map<Part, sched::ProcessId> parts;  // without the rest
    std::vector<std::string> warnings;       // that have been logged
    bool logged_no_parts = false;
    bool parts_refused = false;
    bool doubted = false;  // whether anybody sees its work
  };
  struct Added {
    sched::ProcessId id;
    bool is_new;
  };
  // Of one user, without agent, queues or marks. They are kept for what was said of them; whoever
  // has more is a nuisance.
  static constexpr std::size_t kMostIdle = 256;
  static constexpr double kLinesPerSecond = 1, kLinesAtOnce = 10;  // of one user
  static constexpr u64 kAgentPatienceNs = 5'000'000'000;  // it may come later than the queues
  struct Doubt {
    sched::ProcessId id;
    u64 until_ns;
  };

  Result<Added> add(const Who& who);
  void make_place(const Who& newcomer);
  bool is_idle(sched::ProcessId id) const;
  bool is_idle_part(sched::ProcessId id) const;
  // The owner of a process can change, and with it what the process may do.
  void correct(sched::ProcessId id, Record& record, const Who& who);
  // Whether a rule of the administrator says what it is.
  bool enforce_class(const Record& record, sched::ProcessFacts& facts) const;
  // Whether the process calls itself something that its user may not.
  bool limit_class(const Who& who, sched::ProcessFacts& facts) const;
  bool is_granted(const Who& who, bool config::Grant::*what) const;
  sched::ProcessFacts facts_of(const Record& record) const;
  sched::ProcessFacts facts_of_part(const Record& record, Part part) const;
  void doubt(sched::ProcessId id, Record& record);
  bool may_have_parts(const Record& record) const;
  void drop_parts(Record& record);
  void hold_as(sched::ProcessId whole, sched::ProcessId part);
  void log_no_parts(sched::ProcessId id, Record& record);
  const config::Access* limit_of(const Who& who) const;
  void set_level(sched::ProcessFacts& facts) const;
  void look_at(sched::ProcessId id, Onlooker::Patience patience);
  void looked_at(sched::ProcessId id, const Onlooker::Facts& facts);
  void update(sched::ProcessId id);
  void ended(sched::ProcessId id);

  Loop& loop_;
  sched::Engine& engine_;
  const config::Config& config_;
  std::function<void(sched::ProcessId)> on_change_ = [](sched::ProcessId) {};
  std::unordered_map<sched::ProcessId, Record> records_;
  std::unordered_map<pid_t, sched::ProcessId> by_pid_;
  std::unordered_map<sched::ProcessId, sched::ProcessId> process_of_part_;
  std::map<Payer, sched::Allowance> log_lines_;
  std::deque<Doubt> doubts_;  // in the order in which they came
  Onlooker onlooker_;
};

}  // namespace gp::daemon
