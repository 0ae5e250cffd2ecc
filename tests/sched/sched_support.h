// The engine among processes that live in virtual time: agents and a Controller that answer after a
// while, refuse, or say nothing; leases that end at their deadline; hours in milliseconds.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sched/engine.h"

namespace gp::sched {

using discover::ClassSource;

constexpr u64 kUs = 1'000, kMs = 1'000'000, kSecond = 1'000'000'000;

class World : public Effects {
 public:
  // How one process behaves.
  struct Model {
    u64 takes_ns = 1 * kMs;            // from an order to its answer
    u64 prepare_takes_ns = 0;          // 0: as the others
    bool silent = false;               // its agent never answers; the Controller always does
    std::map<Mechanism, int> refuses;  // stops by these ways fail with this errno
    bool start_fails = false;
    // ---- what is true of it ----
    bool stopped = false;
    Mechanism mechanism = Mechanism::self_debug;
    u64 free_at_ns = 0;  // orders are carried out one after the other
    u64 deadline_ns = 0;
    u32 stops = 0, starts = 0, prepares = 0, extends = 0;
    std::vector<Mechanism> tried;
    bool has_page = true;
    Activity activity;
  };

  // Its driver is a stock one: without the mechanism kernel.
  explicit World(Settings settings = {});

  void carry_out(const Order& order) override;
  std::optional<Activity> activity(ProcessId process) override;
  void runs_again(ProcessId process) override { journal.erase(process); }

  ProcessId online(const std::string& job = "");
  ProcessId offline(const std::string& job = "");
  ProcessId add(ProcessFacts facts, MechanismSet abilities, u32 gpu_id = 1);
  void remove(ProcessId id);
  void set_busy(ProcessId id, bool busy);  // as its agent would say it
  void settle() { engine.settle(now_ns); }
  void run_for(u64 duration_ns);
  void sleep_for(u64 duration_ns);  // the engine does not run meanwhile

  Model& of(ProcessId id) { return models.at(id); }
  bool stopped(ProcessId id) { return of(id).stopped; }
  JobReport job(ProcessId id);

  u64 now_ns = 1000 * kSecond;
  Engine engine;
  std::map<ProcessId, Model> models;
  std::set<ProcessId> journal;  // what is, or may be, stopped
  u32 overdue = 0;              // leases that ended by themselves

 private:
  struct Pending {
    Order order;
    u64 at_ns;
  };
  void answer(const Order& order);
  bool is_stopping(ProcessId process) const;
  void end_leases();
  std::optional<u64> next_event_ns() const;

  std::vector<Pending> pending_;
  pid_t next_pid_ = 1000;
};

}  // namespace gp::sched
