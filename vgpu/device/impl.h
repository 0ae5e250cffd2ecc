// The inside of a Gpu. One class, because there is one lock; its parts live in files of their own:
//
//   worker.cpp     the threads: run, spin a little, sleep
//   scheduler.cpp  which work a worker does next
//   slice.cpp      running a work-group for a while
//   cp_aql.cpp     the packet processor of AQL queues; vendor packets in cp_vendor.cpp
//   signals.cpp    completion signals and the queue's error signal
//   sdma.cpp       the copy engines
//   hws.cpp        run list, hardware slots, rotation
//   preempt.cpp    unmap, reset, quiesce
//   urgency.cpp    who waits for a worker lends it real-time priority
//   cwsr.cpp       saving and restoring work-groups
//   faults.cpp     what happens when a wave or a packet goes wrong
//
// Unless a comment says otherwise a function is called with the device lock held.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/log.h"
#include "device/busy_meter.h"
#include "device/clock.h"
#include "device/gpu.h"
#include "device/queue.h"
#include "device/sdma.h"
#include "device/urgency.h"

namespace vgpu::device {

using Lock = std::unique_lock<std::mutex>;

// Something to tell the driver once the lock is released.
struct HostCall {
  enum class Kind : u8 { event, memory_fault, queue_error } kind = Kind::event;
  u32 pasid = 0;
  u32 event_id = 0;
  Host::MemoryFault fault;
  MqdPtr queue;
  QueueError error = QueueError::none;
  u64 error_code = 0;
};

// One unit of work, done without the lock.
struct Task {
  enum class Kind : u8 {
    none,
    run_group,
    restore_group,
    sdma,
    save_queue,
    save_group
  } kind = Kind::none;
  QueueExecution* queue = nullptr;
  WorkGroup* group = nullptr;
  bool first_slice = false;      // of this group
  std::optional<SdmaRing> sdma;  // a copy of the ring's registers
};

struct Worker {
  std::thread thread;
  Urgency::Borrower* urgency = nullptr;  // its own; set by the thread before it does anything
  bool busy = false;                     // outside the lock, may use translations
  u64 finished = 0;                      // tasks done: quiesce() waits for it to move
  u64 launch_credit = 0;   // instructions run from fresh launches since the last resident group
  std::vector<u64> rings;  // doorbell values while spinning
};

// The result of running a group or an SDMA queue for a while.
struct SliceResult {
  u64 instructions = 0;
  u64 sleeps = 0;                    // times a wave slept or waited for others
  bool idle = false;                 // ended early: all its waves sleep
  isa::Stop stop = isa::Stop::none;  // other than none, end, barrier, yield: something went wrong
  u32 wave = 0;                      // whose stop it is
  std::vector<u32> events;           // interrupts the waves sent
};

struct TaskResult {
  SliceResult slice;
  bool restored = false;
  SdmaOutcome sdma = SdmaOutcome::empty;
};

class Gpu::Impl {
 public:
  Impl(const GpuConfig& config, const isa::Engine& engine, DoorbellWatch& doorbells, Host& host);
  ~Impl();

  // Public interface of Gpu, same names; these take the lock.
  bool unmap_queues(u64 timeout_ns);
  void run_list(RunList list);
  void reset();
  void quiesce();
  QueueState queue_state(const Mqd& queue) const;
  SaveInfo save_info(const Mqd& queue) const;
  GpuStats stats() const;
  std::vector<HqdView> hqds() const;
  u32 waves_resident(u32 pasid) const;
  u32 busy_percent() const;
  void inject(const Injection& injection);
  void kick();

 private:
  // ---- gpu.cpp ----
  void release_cu(const WorkGroup& group);
  void note_occupancy();  // after every change: the meter follows

  // ---- worker.cpp ----
  void worker_main(Worker& self);
  void run_task(Worker& self, Task& task, Lock& lock);
  void deliver(const std::vector<HostCall>& calls);  // without the lock
  TaskResult do_task(Task& task);                    // without the lock
  void finish_task(Task& task, const TaskResult& result);
  void idle(Worker& self, Lock& lock);
  void spin(Worker& self, Lock& lock);
  void cool_doorbells(Lock& lock);
  bool doorbells_open() const;
  bool all_asleep() const;
  void nap(Lock& lock);
  void sleep(Lock& lock);
  void activity();  // something happened: stay awake for a while
  void wake_worker();

  // ---- scheduler.cpp ----
  void look_around();
  Task pick(Worker& self);
  void look_at_doorbells();
  bool doorbell_changed(QueueExecution& queue);
  void advance_queues();
  Task pick_runnable();
  Task pick_launch();
  bool wants_launch(const QueueExecution& queue) const;
  bool runnable(const QueueExecution& queue, u64 now) const;
  bool more_work() const;
  Task start_group(QueueExecution& queue, const Placement& placement);
  bool restore_next(const QueueExecution& queue) const;
  std::optional<Footprint> next_footprint(const QueueExecution& queue) const;
  bool take_scratch_slots(const QueueExecution& queue, const Packet& packet, u32 waves,
                          std::vector<u32>* slots) const;
  void finish_group(WorkGroup& group, const SliceResult& slice);
  void restore_failed(WorkGroup& group);
  void remove_group(WorkGroup& group);
  Task start_sdma(QueueExecution& queue);
  void finish_sdma(Task& task, SdmaOutcome outcome);
  u64 next_timer(u64 now);

  // ---- slice.cpp: no lock ----
  class WaveMachine;
  SliceResult run_group(WorkGroup& group);
  SliceResult run_waves(WorkGroup& group, WaveMachine& machine);

  // ---- cp_aql.cpp ----
  void advance(QueueExecution& queue);
  bool take_packet(QueueExecution& queue);
  bool take_dispatch(QueueExecution& queue, std::unique_ptr<Packet> packet);
  bool take_barrier(QueueExecution& queue, std::unique_ptr<Packet> packet, bool all);
  bool resolve_scratch(QueueExecution& queue, Packet& packet);
  bool scratch_resolved(QueueExecution& queue);
  void complete_at_once(QueueExecution& queue, std::unique_ptr<Packet> packet);
  void complete_packet(QueueExecution& queue, Packet& packet);
  void retire(QueueExecution& queue);

  // ---- cp_vendor.cpp ----
  bool take_vendor(QueueExecution& queue, std::unique_ptr<Packet> packet);
  bool run_pm4_ib(QueueExecution& queue, const abi::Pm4IbPacket& packet);
  bool take_barrier_value(QueueExecution& queue, std::unique_ptr<Packet> packet);

  // ---- signals.cpp ----
  void complete_signal(QueueExecution& queue, u64 signal, u64 start_ts, u64 end_ts);
  std::optional<i64> signal_value(QueueExecution& queue, u64 signal);
  void post_event(QueueExecution& queue, u32 event_id);
  void notify_signal(QueueExecution& queue, u64 signal);
  u64 inactive_signal(const QueueExecution& queue) const;
  void raise_inactive(QueueExecution& queue, u64 code);

  // ---- hws.cpp ----
  void map_queue(const MqdPtr& mqd, u32 slot);
  void release_slot(QueueExecution& queue);
  void fill_slots();
  bool has_work(const QueueExecution& queue) const;
  std::optional<u32> vmid_index(const Vmid& vmid) const;
  std::optional<u32> free_slot(bool sdma) const;
  void rotate_if_due();
  void choose_victims();
  void leave(QueueExecution& queue);
  QueueExecution* best_victim(bool sdma) const;
  const Vmid* longest_mapped_process(const std::set<const Vmid*>& except) const;
  Task pick_leaving();
  void finish_leaving(QueueExecution& queue);

  // ---- preempt.cpp ----
  bool wait_until(Lock& lock, u64 deadline_ns, const std::function<bool()>& done,
                  Loan* loan = nullptr);
  bool nobody_runs() const;
  bool stop_and_save(Lock& lock, u64 deadline_ns, Loan& loan);
  Task pick_save();
  bool nothing_left_to_save() const;
  bool all_saved() const;
  bool drain(Lock& lock, u64 start_ns, u64 deadline_ns, Loan& loan);
  void take_list_down();
  void raise_attention();
  void lower_attention();

  // ---- cwsr.cpp ----
  std::vector<WorkGroup*> plan_save(QueueExecution& queue);
  u64 make_save_space(QueueExecution& queue, u64 wanted);
  void save_group(WorkGroup& group);  // no lock: nobody else touches a group that is to be saved
  // All resident groups of a queue that leaves. No lock: nobody else touches it.
  void save_groups(QueueExecution& queue);
  // Marks what was written as saved and frees the CUs. False: some groups stay resident.
  bool commit_saved(QueueExecution& queue);
  bool restore_group(WorkGroup& group);  // no lock
  u64 restore_time(const QueueExecution& queue) const;

  // ---- faults.cpp ----
  void memory_fault(QueueExecution& queue, u64 va, bool write);
  void memory_fault(QueueExecution& queue, const Host::MemoryFault& fault);
  void queue_failed(QueueExecution& queue, QueueError error, u64 code);
  void wave_stopped(WorkGroup& group, const SliceResult& result);
  void wave_faulted(QueueExecution& queue, const isa::Fault& fault);
  void wave_trapped(QueueExecution& queue, isa::Wave& wave);
  MqdPtr shared(const QueueExecution& queue) const;

  const GpuConfig config_;
  const isa::Engine& engine_;
  DoorbellWatch& doorbells_;
  Host& host_;
  u64 ring_callback_ = 0;

  std::mutex hws_mutex_;  // one command of the HIQ at a time; outside mutex_
  mutable std::mutex mutex_;
  std::condition_variable work_;     // workers sleep here
  std::condition_variable stopped_;  // unmap, reset and quiesce wait here

  enum class Phase : u8 {
    running,
    preempting,  // an unmap is under way: only draining groups are started
    hung,        // an unmap did not complete: nothing runs until reset()
  } phase_ = Phase::running;
  bool stopping_ = false;
  bool saves_wanted_ = false;      // an unmap is under way: groups are saved as they stop
  bool saving_ = false;            // unmap writes a save area itself, without the lock
  std::atomic<u32> attention_{0};  // non-zero: waves stop at their next look

  Urgency urgency_{config_.lend_urgency};
  std::vector<std::unique_ptr<Worker>> workers_;
  Worker* spinner_ = nullptr;
  bool timer_taken_ = false;
  u32 sleepers_ = 0;
  u64 awake_until_ = 0;  // ns; no sleeping before
  bool cooled_ = false;
  u32 idle_slices_ = 0;  // in a row, in which all waves slept
  u64 nap_ns_ = 0;
  u64 poll_delay_ = 0;  // ns; back-off of the timed sleep
  std::atomic<u64> kicks_{0};

  std::vector<HostCall> outbox_;
  Occupancy occupancy_;
  mutable BusyMeter busy_;
  GpuStats stats_;
  Injection injection_;

  // ---- run list and slots ----
  std::vector<MqdPtr> listed_;                                     // all queues of the run list
  std::shared_ptr<const std::vector<Doorbell>> listed_doorbells_;  // same order
  std::vector<MqdPtr> hqds_;                                       // compute slots; null: free
  std::vector<MqdPtr> sdma_slots_;
  std::vector<const Vmid*> vmids_;  // which process has which hardware VMID; null: free
  std::deque<MqdPtr> waiting_;      // in the run list, no slot; longest waiting first
  std::vector<QueueExecution*> mapped_;
  u64 map_sequence_ = 0;
  u64 quantum_used_ = 0;
  u32 leaving_ = 0;  // mapped queues that are to give up their slot
  std::set<const Vmid*> leaving_processes_;

  // ---- scheduler ----
  size_t next_runnable_ = 0;
  std::vector<QueueExecution*> wanting_;  // pick_launch's list, kept to save allocations
  u64 launch_sequence_ = 0;
  u64 looked_at_ = 0;  // ns; doorbells and stalled queues
  bool recheck_stalls_ = false;
};

}  // namespace vgpu::device
