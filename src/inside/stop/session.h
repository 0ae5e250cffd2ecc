// Stopping the queues of the process this code runs in: the mechanisms `update-queue`, `self-debug`
// and `early-ioctl`. The agent uses it, and so does anybody who acts on the own process.
//
//   self-debug    one driver call for any number of queues; needs KFD 1.13 and an enabled runtime
//   update-queue  any driver, one call per queue; knows only queues it was told of, or, from KFD
//                 1.13 on, those it asked the driver for
//   early-ioctl   driver builds with PREEMPT_QUEUE 0x87; one call per queue
//
// None needs a privilege. A session keeps no deadlines: its owner does (the agent's Service, or a
// Controller), for nothing else would start the queues of a process whose controller has died.
//
// All functions return 0 or -errno. For one thread at a time. Libc only; a session is large
// (180 KiB) and belongs into static memory.
#pragma once

#include "model/mechanism.h"
#include "stop/debug_session.h"
#include "stop/queue_ids.h"

namespace gp::stop {

// What the runtime knows of a queue it has created.
struct Ring {
  u64 base = 0;  // hsa_queue_t.base_address
  u32 bytes = 0;
  u32 gpu_id = 0;    // KFD's; only needed before KFD 1.13
  u32 priority = 7;  // 0..15, as it was created with or set to since
};

struct Session {
  Mechanism mechanism = Mechanism::update_queue;
  u32 kfd_minor = 0;
  pid_t sysfs_pid = 0;  // 0: unknown, in a pid namespace; somebody outside may set it
  DebugSession debug;
  QueueIds before;  // creation of a queue, before KFD 1.13

  // One table, whatever the mechanism; the debug session fills it from the driver's snapshots.
  QueueTable& queues() { return debug.queues; }
  const QueueTable& queues() const { return debug.queues; }
};

// Makes ready. self-debug enables debugging of the own process: -EALREADY if a debugger is
// attached, -EPERM if the runtime is not enabled and never will be, because queues exist.
int open_session(Session& session, const kfd::Channel& channel, Mechanism mechanism);
// Everything runs, debugging is off. self-debug: also to be called before the runtime shuts down
// (RUNTIME_ENABLE off), which would wait for an answer of the debugger: for us.
int close_session(Session& session);
// Runtimes before ROCm 6 never call RUNTIME_ENABLE, without which self-debug and debugger cannot
// stop queues. To be called before the first queue exists; that it is enabled already is no error.
int enable_runtime_if_needed(const kfd::Channel& channel);

// Around the creation of each queue, no two at the same time. end_create() finds the queue's id:
// -ENOTUNIQ if it cannot be told for certain; the queue is then left alone for ever.
int begin_create(Session& session);
int end_create(Session& session, const Ring& ring, u32* id);
// Before a queue is destroyed: starts it (DESTROY_QUEUE waits for that under self-debug) and
// forgets it.
int before_destroy(Session& session, u64 ring_base);
// The runtime has changed the priority: UPDATE_QUEUE must repeat it. While the queue is stopped the
// runtime's own call must not be made, it would start the queue; start() sets the new priority.
int note_priority(Session& session, u64 ring_base, u32 priority);
// Asks the driver for all queues, the runtime's internal ones included (KFD 1.13).
int learn_queues(Session& session);

// All or nothing; *failed_id as for the debug session. A queue that is stopped already stays so.
int stop_queues(Session& session, const u32* ids, u32 count, u32 grace, u32* failed_id);
int stop_all_queues(Session& session, u32 grace, u32* failed_id);
int start_queues(Session& session, const u32* ids, u32 count);
int start_all_queues(Session& session);

}  // namespace gp::stop
