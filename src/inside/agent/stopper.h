// Stops and starts the queues of this process, by the mechanism the daemon asks for. Any thread may
// call: the agent's threads for the daemon, the program's threads around the making and destroying
// of queues, and whoever ends the process. Locks: this before the lock of `queues`.
//
// A part of the process (model/part.h) is held or not, and `held_` says which. As long as there is
// but one, the rest, it is the whole process: the runtime's own queues and new ones included. With
// several, what is held is the queues that the program has made in these parts; what the runtime
// has made for itself serves all of them and runs.
#pragma once

#include <pthread.h>

#include "agent/queues.h"
#include "stop/session.h"

namespace gp::agent {

struct StopOutcome {
  int error = 0;   // -errno
  u32 queues = 0;  // that changed state
  u64 driver_enter_ns = 0;
  u64 driver_leave_ns = 0;
};

class Stopper {
 public:
  // Before the first queue exists. Finds out what can be done here.
  void prepare(const kfd::Channel& channel);
  MechanismSet abilities() const { return abilities_; }

  // Gets ready for stops by `mechanism`, so that the first one is as quick as the others.
  // Self-debug makes this process its own debugger: one unmap of all its GPUs.
  int make_ready(Part part, Mechanism mechanism);
  // Self-debug is not what this part is stopped by: others may debug the process, unless another
  // part is, or as long as one is stopped.
  void stand_down(Part part);

  StopOutcome stop(Part part, Mechanism mechanism);
  StopOutcome start(Part part);
  bool stopped(Part part);
  // A queue has changed its part.
  void queues_moved();

  // Around the creation of a queue by the program. Before KFD 1.13 it lets only one thread at a
  // time create queues, because the new queue's id is found as the difference it makes.
  void creating();
  void created(const stop::Ring& ring);
  void not_created();
  // A stopped process must not have new queues that run.
  void stop_new_queues();
  void destroying(u64 ring_base);

  // True: the queue is stopped in a way that the runtime's own call would undo. The caller keeps
  // the wish until the queues have been started.
  bool note_priority(u64 ring_base, u32 priority);

  // KFD's id, kUnknownQueue if it is not known.
  u32 queue_id(u64 ring_base);

  // The end that becomes readable when the driver has something to say; -1: none.
  int event_fd();
  // Once after it has become another one.
  bool take_other_session();
  // True: the driver has started queues that were stopped, by ending the session; take_lost() then
  // says so once to each part that was held.
  bool handle_events();
  bool take_lost(Part part);

  // Everything runs, and no stop succeeds any more.
  void shut_down();

 private:
  int make_ready_locked(Part part, Mechanism mechanism);
  int open_locked(Mechanism mechanism);
  void close_locked();
  void close_if_unwanted();
  int learn_priorities();
  int stop_known();
  bool holds(Part part) const { return (held_ & bit_of(part)) != 0; }
  int apply_holds();
  int apply_to_parts();
  int learn_missing();
  u32 count_stopped() const;

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t creation_ = PTHREAD_MUTEX_INITIALIZER;
  kfd::Channel channel_;
  stop::Session session_{};
  u32 kfd_minor_ = 0;
  MechanismSet abilities_;
  bool open_ = false;
  bool other_session_ = false;
  bool unwanted_ = false;  // the session is to be closed as soon as nothing is stopped
  u32 held_ = 0;           // parts that are to be stopped
  u32 ready_ = 0;          // parts for which the process is its own debugger
  u32 lost_ = 0;           // parts that the driver has started and that have not been told
  bool over_ = false;
};

extern Stopper stopper;

}  // namespace gp::agent
