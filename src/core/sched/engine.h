// The engine: events in, the policy asked, orders out. It decides which jobs are stopped and how,
// keeps their leases alive while that is wanted, and measures what it costs.
//
// It has no clock, no thread, no file: every event brings the time, every effect is an Order given
// to Effects and answered later by answered(). So a test runs hours in milliseconds and the same
// code serves gpreemptd. After a batch of events comes settle(): the policy is asked once for all
// of them, which also combines stops and starts that coincide.
//
// What always holds:
//   - a process is ordered to stop only while its job is wanted down, and it has a deadline by
//   then;
//   - deadlines are extended only while the job is wanted down, never beyond lease_ns from now;
//   - whatever is stopped and no longer wanted down is ordered to start, until it runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/policy.h"
#include "sched/job_index.h"
#include "sched/report.h"
#include "sched/room.h"
#include "sched/tables.h"
#include "sched/trace.h"

namespace gp::sched {

enum class Verb : u8 { prepare, stop, start, extend };

// One thing to do to one process. `extend` is not answered; the others are, by their sequence.
struct Order {
  Verb verb = Verb::stop;
  ProcessId process = 0;
  Mechanism mechanism = Mechanism::self_debug;
  u32 sequence = 0;
  u64 deadline_ns = 0;  // of stop and extend: when the process runs again by itself
};

struct Answer {
  u32 sequence = 0;
  int error = 0;                                 // a positive errno; 0: done
  std::string reason;                            // of an error, for people
  u64 driver_enter_ns = 0, driver_leave_ns = 0;  // 0: not measured
};

class Effects {
 public:
  virtual ~Effects() = default;
  virtual void carry_out(const Order& order) = 0;
  // What the agent of a process says now, or who reads its rings; empty if nobody does.
  virtual std::optional<Activity> activity(ProcessId process) = 0;
  // What was ordered to stop is known to run, or has gone.
  virtual void runs_again(ProcessId process) = 0;
};

class Engine {
 public:
  Engine(Effects& effects, Settings settings);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- events: processes ----
  ProcessId add_process(u64 now_ns, const ProcessFacts& facts);
  void remove_process(u64 now_ns, ProcessId id);
  // Another class, priority, job or owner than before.
  void set_facts(u64 now_ns, ProcessId id, const ProcessFacts& facts);
  void agent_joined(u64 now_ns, ProcessId id, MechanismSet abilities);
  // The connection has ended but the process has not: what its agent had stopped runs again.
  void agent_left(u64 now_ns, ProcessId id);
  // How many compute queues it has on each GPU, by one who knows; `appeared`: one is new.
  void set_queues(u64 now_ns, ProcessId id, QueueSource source, const QueueCounts& counts,
                  bool appeared);

  // ---- events: work ----
  void woken(ProcessId id);  // its agent, or who reads its rings, says that busy has changed
  // Nobody reads its rings any more; why not, if that was wanted.
  void rings_lost(ProcessId id, const std::string& why);
  void online_begin(u64 now_ns, ProcessId id, std::optional<u64> latency_target_ns);
  void online_end(u64 now_ns, ProcessId id);
  // A client wants the job of a process stopped, whatever the policy says.
  void hold(u64 now_ns, ProcessId id, u64 holder, u64 until_ns);
  void release(u64 now_ns, u64 holder, std::optional<ProcessId> id);

  // ---- events: orders ----
  void answered(u64 now_ns, ProcessId id, const Answer& answer);
  void lease_ended(u64 now_ns, ProcessId id);  // by itself, from outside

  // ---- events: the rest ----
  void set_node(u32 gpu_id, const NodeFacts& facts);
  void configure(u64 now_ns, Settings settings);
  // From now on nothing is stopped, and everything that is gets started.
  void close(u64 now_ns);
  // Asks the policy and does what is due. To be called after every batch of events and at
  // wake_ns().
  void settle(u64 now_ns);

  // ---- what follows from them ----
  std::optional<u64> wake_ns() const { return wake_ns_; }
  // The first deadline that passes unless somebody extends it; empty while nothing is stopped.
  std::optional<u64> earliest_deadline_ns() const;
  bool all_running() const;
  const Process* find(ProcessId id) const;
  const Process* find_pid(pid_t pid) const;  // of its parts, the rest
  const Job* find_job(ProcessId id) const;   // that a process belongs to
  // Every job as the policy would see it now. What it sees in settle() is less, and must lead to
  // the same decision.
  policy::View view_of_all(u64 now_ns) const;
  // By which mechanism the process would be stopped, now or once its agent with these abilities has
  // joined; empty if its class is not stopped or there is none.
  std::optional<Mechanism> expected_mechanism(ProcessId id, MechanismSet abilities) const;
  // Whether it is online and nobody can tell when it has work: no agent, no marks of its own, and
  // its rings are not read. Nothing is ever stopped for it.
  bool is_work_unseen(ProcessId id) const;
  // Online processes of whose work nobody tells, and for which somebody could be stopped.
  std::vector<ProcessId> worth_watching() const;
  // Counts what may have changed these.
  u64 changes() const { return changes_; }
  Report report(u64 now_ns) const;
  const Trace& trace() const { return trace_; }

 private:
  // engine.cpp
  Process* get(ProcessId id);
  static Job& job_of(Process& process) { return *process.job; }
  void enter_job(u64 now_ns, Process& process, const Job* before = nullptr);
  void inherit(u64 now_ns, const Job& before, Job& job);
  void leave_job(u64 now_ns, Process& process);
  void update_job(Job& job);
  void note(u64 now_ns, TraceKind kind, const Job& job, pid_t pid = 0, i64 value = 0);
  // transitions.cpp: what brings a process to where its job is wanted.
  void bring(u64 now_ns, Process& process);
  void bring_all(u64 now_ns, Job& job);
  void order(u64 now_ns, Process& process, Verb verb, Phase phase);
  void order_prepare(u64 now_ns, Process& process);
  void stop_answered(u64 now_ns, Process& process, const Answer& answer);
  void start_answered(u64 now_ns, Process& process, const Answer& answer);
  void mechanism_failed(u64 now_ns, Process& process, Mechanism mechanism, int error,
                        const std::string& reason);
  void job_failed(u64 now_ns, Job& job, const std::string& reason, int error);
  void set_running(Process& process);
  void check_job(u64 now_ns, Job& job);
  bool may_log(u64 now_ns);
  void log_preemption(u64 now_ns, const Job& job);
  NodeRecord* node_of(u32 gpu_id);
  void measure_stop(u64 now_ns, Process& process, const Answer& answer);
  std::optional<Mechanism> best_mechanism(const Process& process) const;
  bool is_available(const Process& process, Mechanism mechanism) const;
  bool may_be_stopped(const Job& job) const;
  void no_answer(u64 now_ns, Process& process);
  // decide.cpp: the policy's view, and what is due by time alone.
  void read_activity(u64 now_ns, Process& process);
  void do_what_is_due(u64 now_ns);
  bool keeps_lease(const Process& process) const;
  void extend_lease(u64 now_ns, Process& process);
  void build_view(u64 now_ns);
  void view_job(u64 now_ns, const Job& job, policy::JobView& view) const;
  static void view_activity(const Job& job, policy::JobView& view);
  void follow_activity(u64 now_ns, Job& job, const policy::JobView& view);
  std::optional<policy::StopCost> stop_cost(const Job& job) const;
  std::optional<policy::StopCost> cost_of_stops_for(const policy::JobView& claimant) const;
  bool is_stoppable(const Job& job) const;
  bool is_awaited(const Job& job) const;
  void set_waits(Process& process, u32 parts);
  bool is_at_rest(u64 now_ns, const Job& job) const;
  Job& viewed_job(JobId id) const;
  void put_down(u64 now_ns, Job& job);
  void let_up(u64 now_ns, Job& job);
  void plan_wake(u64 now_ns, std::optional<u64> policy_wake_ns, std::optional<u64> room_wake_ns);
  // slots.cpp
  u32 queues_on(u32 gpu_id) const;
  bool slots_low(u32 gpu_id) const;
  void watch_slots();
  static u32 queues_of(const Process& process, u32 gpu_id);
  // unseen.cpp
  static bool nobody_tells(const Process& process);
  bool has_victims(const Job& claimant) const;
  std::optional<u64> keep_room(u64 now_ns);
  RoomView view_room(u64 now_ns) const;

  Effects& effects_;
  Settings settings_;
  std::unordered_map<ProcessId, Process> processes_;
  std::map<JobId, Job> jobs_;
  std::map<u32, NodeRecord> nodes_;  // by gpu_id
  JobIndex index_;
  Latencies latencies_;
  Trace trace_;
  // Kept for their memory: to build a view on the way to a stop allocates nothing.
  policy::View view_;
  std::vector<Job*> viewed_;  // by id; without those that are held, view_.jobs
  std::vector<ProcessId> woken_;
  std::vector<ProcessId> waiting_;  // processes that wait for other parts
  std::optional<u64> wake_ns_;
  std::optional<u64> notice_ns_;  // when the online work began that has not been decided about yet
  Allowance log_lines_;
  u64 unlogged_ = 0;  // preemptions without a line in the log
  u64 changes_ = 0;   // of jobs: who they are, what they have, who speaks for them
  u64 next_id_ = 1;
  u32 next_sequence_ = 1;
  bool closed_ = false;
};

}  // namespace gp::sched
