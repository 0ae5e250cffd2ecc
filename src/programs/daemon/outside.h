// Carries out orders from outside the process, with the Controller, on threads of their own: its
// calls may block for as long as the driver does. Orders of one process are done one after the
// other in their order; different processes do not wait for each other.
//
// Stops and starts by `kernel` are collected instead, until somebody takes them and carries them
// out together: one driver call for all of them, and the thread that has decided can make it.
//
// The engine alone counts leases: an order has an absolute deadline, which the Controller keeps as
// it is. An extension that comes while the driver is at the stop is kept for the lease to be.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/loop.h"
#include "mechanism/controller.h"
#include "sched/engine.h"

namespace gp::daemon {

class Outside {
 public:
  using Answered = std::function<void(sched::ProcessId, const sched::Answer&)>;
  using Ended = std::function<void(sched::ProcessId)>;  // a lease, by itself

  // Both are called in the loop's thread.
  static Result<std::unique_ptr<Outside>> create(Loop& loop, Answered answered, Ended ended);
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  ~Outside();  // ends all leases

  void carry_out(const sched::Order& order, const ProcessKey& key);

  struct Collected {
    sched::Order order;
    ProcessKey key;
  };
  bool has_collected() const { return !collected_.empty(); }  // loop's thread
  std::vector<Collected> take_collected() { return std::exchange(collected_, {}); }
  // Any thread; returns when the driver has. The answers come as for all orders.
  void carry_out_together(std::span<const Collected> orders);

  // Detaches from the process after what has been ordered before, unless it is stopped; then
  // `done`, in the loop's thread and before the answer to whatever was ordered later.
  void let_go(const ProcessKey& key, std::function<void()> done);
  // Starts what a daemon before us may have left paused by `criu`.
  void unpause_leftover(const ProcessKey& key);

 private:
  static constexpr u32 kMostThreads = 8;
  using Work = std::function<void()>;
  struct Strand {
    std::deque<Work> work;
    bool active = false;  // a thread is at it
  };

  Outside(Loop& loop, Answered answered, Ended ended)
      : loop_(loop), answered_(std::move(answered)), ended_(std::move(ended)) {}
  // What concerns one process is done one after the other.
  void submit(const ProcessKey& process, Work work);
  void run_thread();
  void stop(const sched::Order& order, const ProcessKey& key);
  void start(const sched::Order& order);
  void extend(const sched::Order& order);
  mechanism::LeaseId take_lease(sched::ProcessId process);
  void stopped(const sched::Order& order, u64 called_ns, const mechanism::LeaseReport& report);
  void answer(const sched::Order& order, const Status& status, sched::Answer answer = {});
  void take_events();

  Loop& loop_;
  Answered answered_;
  Ended ended_;
  std::unique_ptr<mechanism::Controller> controller_;
  Loop::Token events_ = 0;
  std::vector<Collected> collected_;  // the loop's

  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<ProcessKey, Strand> strands_;
  std::deque<ProcessKey> ready_;  // strands with work that no thread is at
  std::map<sched::ProcessId, mechanism::LeaseId> leases_;
  // Deadlines of stops that were extended before the driver had made them.
  std::map<sched::ProcessId, u64> early_extensions_;
  std::vector<std::thread> threads_;
  u32 idle_threads_ = 0;
  bool ending_ = false;
};

}  // namespace gp::daemon
