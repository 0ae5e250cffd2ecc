// The agents: their hello, their pages and wake-ups, and the orders that go to them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/outside.h"
#include "daemon/page_mapping.h"
#include "daemon/peers.h"
#include "daemon/processes.h"
#include "sched/engine.h"

namespace gp::daemon {

class Agents {
 public:
  Agents(Loop& loop, sched::Engine& engine, Processes& processes, const config::Config& config)
      : loop_(loop), engine_(engine), processes_(processes), config_(config) {
    processes_.set_on_change([this](sched::ProcessId id) { on_change(id); });
  }
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;
  ~Agents();

  void set_peers(Peers& peers) { peers_ = &peers; }
  void set_outside(Outside& outside) { outside_ = &outside; }
  void set_discovery(Discovery* discovery) { discovery_ = discovery; }
  void set_gpus(std::set<u32> gpu_ids) { gpu_ids_ = std::move(gpu_ids); }

  // Messages of agents; false if it is not one that may come now.
  bool on_message(Peer& peer, const wire::Header& header, std::span<const u8> message);
  // An agent that cannot be understood.
  void on_other_version(const Peer& peer, u16 version);
  void on_closed(PeerId id);
  // A process that was stopped runs again, or has ended.
  void on_runs_again(sched::ProcessId id);

  void carry_out(const sched::Order& order);
  std::optional<sched::Activity> activity(sched::ProcessId id) const;
  // Tells agents whose class has changed since their welcome.
  void refresh_welcomes();
  // Listens again to agents that had woken us too often. When to call it next.
  std::optional<u64> unmute(u64 now_ns);

 private:
  struct Agent {
    PeerId peer = 0;
    sched::ProcessId process = 0;
    Part part = Part::rest;
    std::unique_ptr<PageMapping> page;
    bool has_page = false;  // the agent: it was sent
    Loop::Token wake_token = 0;
    std::map<u64, u32> queues;  // gpu_id by ring address
    MechanismSet abilities;
    wire::Welcome welcome;  // as sent last
    sched::Allowance wakes;
  };
  struct Muted {
    PeerId peer;
    u64 until_ns;
  };

  bool on_hello(Peer& peer, std::span<const u8> message);
  bool on_refused(const Peer& peer, std::span<const u8> message);
  void refuse(const Peer& peer, std::string reason);
  void note_refusal(const Peer& peer, sched::ProcessId id, ToldFacts facts, std::string reason);
  void let_go_for(PeerId id, const ProcessKey& key);
  void admit_expected(PeerId id);
  bool admit(Peer& peer, const wire::Hello& hello);
  bool on_queue(Agent& agent, const wire::Header& header, std::span<const u8> message);
  bool on_done(Agent& agent, std::span<const u8> message);
  void on_wake(Agent& agent);
  void tell_queues(Agent& agent, bool appeared);
  void welcome(Agent& agent);
  void on_change(sched::ProcessId id);
  void welcome_job_of(sched::ProcessId id);
  void dismiss(const Agent& agent);
  void dismiss_parts_of(sched::ProcessId whole);
  Agent* agent_of(sched::ProcessId id) const;

  Loop& loop_;
  sched::Engine& engine_;
  Processes& processes_;
  const config::Config& config_;
  Peers* peers_ = nullptr;
  Outside* outside_ = nullptr;
  Discovery* discovery_ = nullptr;
  std::set<u32> gpu_ids_;
  std::unordered_map<PeerId, Agent> agents_;
  std::unordered_map<sched::ProcessId, Agent*> by_process_;
  // Who has said hello while we are still attached to the process from outside.
  std::unordered_map<PeerId, wire::Hello> expected_;
  std::vector<Muted> muted_;  // who is not listened to
};

}  // namespace gp::daemon
