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

#include "driver/queue.h"

namespace vgpu::driver {

struct Node;
struct Process;
struct ProcessDevice;

class Dqm {
 public:
  // `on_hang` is called, with the lock held, when the scheduler did not answer; it must only make
  // a note (kfd_hws_hang schedules work).
  Dqm(Node& node, u64 hws_timeout_ms, std::function<void()> on_hang);

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
  int unmap();
  int map();
  int execute();
  void count(const Queue& queue, int delta);
  void register_device(ProcessDevice& device);
  void unregister_if_empty(ProcessDevice& device);
  void forget(const ProcessDevice& device);
  int allocate_sdma(Queue& queue);
  void deallocate_sdma(const Queue& queue);
  int suspend_one(Queue& queue);
  void resume_one(Queue& queue);
  int execute_suspend();

  Node& node_;
  const u64 timeout_ns_;
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
};

}  // namespace vgpu::driver
