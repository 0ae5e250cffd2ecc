// The device queue manager of one GPU under hardware scheduling
// (kfd_device_queue_manager.c, *_cpsch).
//
// Whatever changes the set of active queues unmaps every user queue of every process on the node
// and sends a new run list; one lock per GPU is held meanwhile. A scheduler that does not answer
// within the time limit is reset, and every process is told.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <vector>

#include "driver/queues/queue.h"
#include "driver/work_queue.h"

namespace vgpu::driver {

struct Lease;
struct Node;
struct Process;
struct ProcessDevice;

class Dqm {
 public:
  // `on_hang` is called, with the lock held, when the scheduler did not answer; it must only make
  // a note (kfd_hws_hang schedules work). `patched`: what happens to a process none of whose queues
  // is or becomes active interrupts nobody, and it counts for nothing (kernel/patches).
  Dqm(Node& node, WorkQueue& work, u64 hws_timeout_ms, bool patched, std::function<void()> on_hang);

  // ---- queues of a process. 0 or a negative errno ----

  int create_queue(const QueuePtr& queue);
  // Blocks, without the lock, while the queue is suspended. `process_lock` is released meanwhile.
  int destroy_queue(const QueuePtr& queue, std::unique_lock<std::mutex>& process_lock);
  // Applies what `change` does to the queue, between unmap and map.
  int update_queue(Queue& queue, const std::function<void()>& change);
  int evict(ProcessDevice& device);
  int restore(ProcessDevice& device);
  // All queues of the process leave for good (process_termination_cpsch).
  void terminate(ProcessDevice& device);
  // Unmap and map with nothing changed (debug_refresh_runlist).
  int refresh();

  // ---- the debugger: SUSPEND_QUEUES and RESUME_QUEUES of one device ----

  // Marks the queues whose ids are in `ids` (bits as in the ABI) and runs the change. Returns the
  // number of queues suspended; adds status bits. The process's event lock must be held.
  u32 suspend(ProcessDevice& device, std::span<u32> ids, u32 grace_period, u64 clear_exceptions);
  // `ids` empty and `all`: every queue.
  u32 resume(ProcessDevice& device, std::span<u32> ids, bool all);
  // One process at a time where debug hardware is not per VMID. 0 or -EBUSY.
  int reserve_debug_vmid();
  void release_debug_vmid();

  // ---- holds: leases keep queues off the device (kernel/patches) ----
  //
  // mutex() must be held. Flags and counters change at once; the device follows when
  // apply_holds() is called, once for any number of changes, if `changed` was set.

  // One queue, or kPreemptAllQueues of the process, those it will create too; `type` is a
  // PreemptType. 0, kPreemptUnchanged, or -ENOENT: not on this GPU, -EOPNOTSUPP: its waves cannot
  // be saved, -ESTALE: the lease has expired.
  int hold(ProcessDevice& device, u32 queue_id, const Lease& lease, u32 type, bool* changed);
  // Only what this lease holds; `type` preempt_low: its mark instead. 0, kPreemptUnchanged, or
  // -ENOENT.
  int release(ProcessDevice& device, u32 queue_id, const Lease& lease, u32 type, bool* changed);
  // Everything that the lease held here before this term of it, and its reservation.
  void release_lease(const Lease& lease, u32 before_term, bool* changed);
  int apply_holds() { return execute(); }

  // ---- slots kept free of low queues (dqm_slots.cpp). mutex() must be held ----

  struct Reservation {
    u32 slots = 0;  // 0: none
    u32 rotate_ms = 0;
  };
  // 0 ends it. -EINVAL: none would be left, -EBUSY: another lease has one.
  int reserve_slots(const Lease& lease, const Reservation& wanted);

  // The counts of GET_HQD_STATUS, and the queues of all processes. mutex() must be held.
  void get_status(abi::QueueStatusArgs& counts, std::vector<QueuePtr>& queues) const;
  u32 holds_on(const Queue& queue) const;
  // Named so by the lease that has the reservation.
  bool is_low(const Queue& queue) const;

  // ---- scheduler reset ----

  void reset();  // after a hang, from the work thread

  // ---- looking ----

  struct RunList {
    bool active = false;
    bool chained = false;  // oversubscribed: the list ends in a RUN_LIST packet
    u64 address = 0;       // of the indirect buffer
    std::vector<ProcessDevice*> processes;
    std::vector<std::vector<QueuePtr>> queues;  // per process
  };
  // Calls `look` with the lock held.
  void inspect(const std::function<void(const RunList&)>& look);
  bool over_subscribed() const;

  // Fault injection: this many suspends fail, as when a GPU reset is under way (-EIO).
  void fail_suspends(u32 count);
  // Blocked destroys return.
  void wake_destroyers();

  std::mutex& mutex() { return mutex_; }

 private:
  // A queue is held, or low for the lease's reservation, while one of these covers it.
  struct Hold {
    const Lease* lease;
    ProcessDevice* device;
    const Queue* queue;  // null: all queues of the process
    bool is_low;
    u32 term;  // of the lease
    bool covers(const Queue& other) const;
    bool is_same(const Hold& other) const;
  };

  int unmap();
  int map();
  int execute();
  int execute_if(bool changes) { return changes || !patched_ ? execute() : 0; }
  bool is_mapped(const ProcessDevice& device) const;
  void count(const Queue& queue, int delta);
  void register_device(ProcessDevice& device);
  void unregister_if_empty(ProcessDevice& device);
  void forget(const ProcessDevice& device);
  int allocate_sdma(Queue& queue);
  void deallocate_sdma(const Queue& queue);
  int suspend_one(Queue& queue);
  void resume_one(Queue& queue);
  int execute_suspend();

  bool is_covered(const Queue& queue) const;
  void set_held(Queue& queue, bool held);
  bool update_held(Queue& queue);
  bool update_covered(const Hold& gone_or_new);
  int release_matching(const std::function<bool(const Hold&)>& matches, bool* changed);
  void forget_queue(Queue& queue);

  bool competes_for_slots(const Queue& queue) const;
  void admit(Queue& queue);
  void withhold(Queue& queue);
  void update_slot_lists();
  void balance_slots();
  void rotate_slots();
  void cancel_rotation();

  Node& node_;
  WorkQueue& work_;
  const u64 timeout_ns_;
  const bool patched_;
  std::function<void()> on_hang_;

  std::mutex mutex_;
  std::condition_variable destroy_wait_;
  std::list<ProcessDevice*> processes_;  // with queues; newest first
  u32 active_queues_ = 0, active_compute_queues_ = 0, gws_queues_ = 0;
  u32 total_queues_ = 0;
  u64 sdma_bitmap_ = 0;
  bool hung_ = false;  // a reset is pending: every change fails with -EIO
  bool debug_vmid_reserved_ = false;
  u32 failing_suspends_ = 0;
  u64 runlist_serial_ = 0;
  RunList sent_;

  std::list<Hold> holds_;
  Reservation reservation_;
  const Lease* reservation_owner_ = nullptr;
  u32 reservation_term_ = 0;
  // The low queues that could run: those that have a slot, and the others, who are next
  // from the front.
  std::list<Queue*> slot_users_, slot_waiters_;
  bool rotate_now_ = false, is_rotation_due_ = false;
  WorkQueue::Timer rotation_;
};

}  // namespace vgpu::driver
