// Stopping queues through the debugger interface (DBG_TRAP): what `self-debug` does in its own
// process and `debugger` does to a process it ptraces.
//
// Four facts shape it (file:line of Linux 6.12, amdkfd; DQM: kfd_device_queue_manager.c):
// - Any number of queues of a process is one call and one unmap per GPU (DQM:3328), but a queue
//   that is stopped already costs the same again: the table remembers what is stopped.
// - A queue is born with EC_QUEUE_NEW and is refused with status INVALID until a snapshot has
//   cleared it (DQM:1036).
// - A new queue of a process whose queues are all stopped starts running: while a session holds
//   all, handle_events() stops it at once.
// - Nothing is rolled back: a queue with status ERROR counts as suspended until it is resumed.
//
// All functions return 0 or -errno. For one thread at a time; of another process, only for the
// thread that ptraces it. The session is large (170 KiB): not for the stack.
#pragma once

#include <sys/types.h>

#include "kfd/calls.h"
#include "stop/queue_table.h"

namespace gp::stop {

// CLOCK_MONOTONIC right before the driver was called and right after it returned.
struct CallWindow {
  u64 entry_ns = 0;
  u64 exit_ns = 0;
};

struct DebugSession {
  kfd::Channel channel;
  pid_t pid = 0;  // in our pid namespace
  bool enabled = false;
  bool holding_all = false;    // queues that appear are stopped at once
  u32 grace = 0;               // of those
  abi::RuntimeInfo runtime{};  // as ENABLE found it
  int event_read = -1;         // becomes readable when handle_events() has something to do
  QueueTable queues;           // as of the last snapshot
  QueueTable before;           // as of the one before it
  CallWindow suspend_call;     // the last SUSPEND_QUEUES
  u32 ids[kMostQueues];        // the argument of the call being made
  abi::QueueSnapshotEntry entries[kMostQueues];
};

// ENABLE, then a first snapshot. -EALREADY: somebody debugs it already. Success does not mean that
// queues can be stopped: session.runtime.runtime_state must be abi::runtime_enabled for that.
int open_debug(DebugSession& session, const kfd::Channel& channel, pid_t pid);
// All of the following: -EINVAL when the driver has ended the session, for whatever reason, and so
// started every queue; event_read tells of that, too, because the driver alone has the pipe's other
// end. close_debug() then makes the session ready to be opened again.

// RESUME of everything, DISABLE. The session can be opened again. A process that has gone is no
// error.
int close_debug(DebugSession& session);

// Brings the table up to date and makes new queues stoppable.
int refresh(DebugSession& session);

// All or nothing. *failed_id is the queue that failed: -ENOENT, there is no such queue; -EIO, the
// driver could not take it off the hardware. -EPERM: the runtime is not enabled, or the target is
// no longer ptraced by this thread. Ids as check_ids() wants them.
int stop(DebugSession& session, const u32* ids, u32 count, u32 grace, u32* failed_id);
// All queues there are, and those that appear until start_all().
int stop_all(DebugSession& session, u32 grace, u32* failed_id);
// Queues that have gone meanwhile are no error.
int start(DebugSession& session, const u32* ids, u32 count);
int start_all(DebugSession& session);

// Reads the pipe and answers what the driver has to say: new queues, a runtime that is waiting for
// the debugger (it would hang otherwise, kfd_chardev.c:2856).
int handle_events(DebugSession& session);

}  // namespace gp::stop
