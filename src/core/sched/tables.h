// What the engine knows: its settings, processes, jobs and nodes. Plain data.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "discover/snapshot.h"
#include "model/mechanism.h"
#include "model/part.h"
#include "policy/linger.h"
#include "policy/policy.h"
#include "sched/measures.h"

namespace gp::sched {

using policy::JobId;
using ProcessId = u64;  // the engine's own; never used again

struct Settings {
  const policy::Policy* policy = policy::find("strict");
  policy::Parameters parameters;
  MechanismSet mechanisms = MechanismSet::defaults();
  u64 lease_ns = 2'000'000'000;   // the longest a process stays stopped without a word from us
  u64 answer_ns = 1'000'000'000;  // an agent that says nothing for so long is not waited for
  u64 retry_ns = 5'000'000'000;   // after no mechanism worked, before the next attempt
  double stops_per_second = 50;   // of one job; beyond it stays stopped rather than flap
  double stops_at_once = 20;
  u32 hqd_reserve = 2;                    // free slots of a node below which there is a warning
  bool make_room = false;                 // idle offline jobs then give up their slots
  u64 make_room_idle_ns = 1'000'000'000;  // after so long without work
  bool read_rings = false;  // of online processes without an agent: whether they have work
};

struct ProcessFacts {
  ProcessKey key;
  Owner owner;
  WorkClass work_class = WorkClass::normal;
  discover::ClassSource class_source = discover::ClassSource::none;
  u32 priority = 7;
  std::string tag, command;
  std::string job;              // empty: a job of its own
  bool governs_others = false;  // its owner may stop jobs of others
  Part part = Part::rest;       // of the operating system's process
  bool has_parts = false;       // that has several
  std::optional<u64> latency_target_ns;
  std::string agent_refusal;  // why no agent works in it
};

// What an agent says of the work of its process, or what its rings say. Either may lie: times are
// checked before use.
struct Activity {
  bool busy = false;
  u64 busy_since_ns = 0, idle_since_ns = 0;
  u64 completed = 0;       // packets
  u64 overdue_starts = 0;  // leases that the agent ended itself
  u32 waits_for = 0;       // other parts of the process that it cannot go on without
};

enum class QueueSource : u8 { agent, seen };  // told by the agent; seen from outside
constexpr u32 kQueueSources = 2;
using QueueCounts = std::map<u32, u32>;  // compute queues by gpu_id

enum class Phase : u8 { running, stopping, stopped, starting };

// What did not work on a process, and why.
class Failures {
 public:
  struct Failure {
    int error = 0;  // 0: it worked, or was not tried
    std::string reason;
  };
  Failure& operator[](Mechanism mechanism) { return table_[static_cast<u32>(mechanism) - 1]; }
  const Failure& operator[](Mechanism mechanism) const {
    return table_[static_cast<u32>(mechanism) - 1];
  }
  void clear() { table_.fill({}); }

 private:
  std::array<Failure, kMechanismCount> table_;
};

struct Job;

// A process of the operating system, or a part of one (model/part.h).
struct Process {
  ProcessId id = 0;
  ProcessFacts facts;
  Job* job = nullptr;  // never empty; the table's nodes stay where they are

  bool has_agent = false;
  MechanismSet abilities;
  std::array<QueueCounts, kQueueSources> queues;

  Phase phase = Phase::running;
  Mechanism mechanism = Mechanism::self_debug;  // in effect, or last used
  bool was_stopped = false;                     // `mechanism` has a meaning
  Failures failures;
  bool prepared = false;  // an outside mechanism was got ready, or the attempt has failed
  u32 sequence = 0;       // of the order that is not answered yet; 0: none
  u32 prepare_sequence = 0;
  std::optional<u64> answer_due_ns;
  u64 deadline_ns = 0;  // while stopping, stopped or starting
  u64 decided_ns = 0;   // when the order under way was given

  std::optional<bool> busy;        // by its agent or its rings; empty without either
  std::string why_rings_not_read;  // though that was wanted
  u64 busy_since_ns = 0, idle_since_ns = 0, progress_ns = 0;
  u64 completed = 0, overdue_starts = 0;
  u32 waits_for = 0;
  u32 online_marks = 0;  // online_begin without online_end
  u64 marked_since_ns = 0, unmarked_since_ns = 0;
  std::optional<u64> marked_target_ns;

  bool has_queues() const { return !queues[0].empty() || !queues[1].empty(); }
};

struct Hold {
  static constexpr u64 kRoom = ~u64{0};  // not a client: the job has made room (room.h)
  u64 holder = 0;
  u64 until_ns = 0;
};

struct Job {
  JobId id = 0;
  Owner owner;
  std::string name;                 // as given; empty: a job of one process
  std::vector<Process*> processes;  // in the order they came; the table's nodes stay where they are

  // Of its processes: kept up to date by update_job().
  WorkClass work_class = WorkClass::normal;
  u32 priority = 7;
  bool governs_others = false;
  std::vector<u32> nodes;  // sorted
  std::optional<u64> latency_target_ns;

  bool attended = false;     // JobIndex: not at rest
  bool down = false;         // wanted stopped
  bool arrived = true;       // all processes are where `down` wants them
  u64 since_ns = 0;          // since when `down` is what it is
  bool arrival_due = false;  // the arrival that `since_ns` is the decision for: it is measured
  u64 previous_stop_ns = 0;
  bool log_due = false;          // a preemption ends that the log has no line of yet
  std::optional<u64> notice_ns;  // the beginning of the online work that this stop is for
  std::vector<Hold> holds;
  std::optional<u64> blocked_until_ns;  // no mechanism worked: not tried again before
  std::string error;                    // why
  Allowance stops_allowed;

  bool made_room() const {
    return std::any_of(holds.begin(), holds.end(),
                       [](const Hold& hold) { return hold.holder == Hold::kRoom; });
  }

  bool was_busy = false;
  u64 was_busy_since_ns = 0, was_idle_since_ns = 0;
  Average burst_ns;
  policy::Linger linger;    // of stops that are made for it
  bool linger_due = false;  // it has gone idle, and the linger is not planned yet
  Usual stop_ns, start_ns;  // from a decision until all its processes have followed

  u64 preemptions = 0, failures = 0;
  u64 stopped_total_ns = 0;                        // without the present stop
  std::optional<u64> last_stop_ns, last_start_ns;  // how long they took
};

struct NodeFacts {
  std::string name;
  u32 node_id = 0;
  std::optional<u32> hqds;
};

struct NodeRecord {
  NodeFacts facts;
  Usual stop_ns, start_ns;
  bool warned = false;
};

}  // namespace gp::sched
