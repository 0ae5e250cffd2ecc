// The KFD calls this project makes, typed. Each returns what the driver returns, or -errno; none
// allocates, throws or keeps state, so that code inside other people's processes may use them.
//
// What the driver demands of the caller is said at each call; file:line are of Linux 6.12,
// drivers/gpu/drm/amd/amdkfd (CH: kfd_chardev.c, DQM: kfd_device_queue_manager.c, DBG: kfd_debug.c,
// PQM: kfd_process_queue_manager.c).
#pragma once

#include <sys/types.h>

#include "abi/early.h"
#include "abi/kfd.h"
#include "kfd/channel.h"

namespace gp::kfd {

struct Version {
  u32 major = 0;
  u32 minor = 0;
};
constexpr u32 kDebuggerMinor = 13;  // DBG_TRAP and RUNTIME_ENABLE came with 1.13

int get_version(const Channel& channel, Version& version);

// Own process only. Percentage 0 takes the queue off the hardware with its waves saved, any other
// puts it back. Ring address and size must be exactly those of its creation, and the priority is
// set along with the rest (kfd_queue.c:196-216).
int update_queue(const Channel& channel, const abi::UpdateQueueArgs& args);

// Tells the driver that this process has a runtime that a debugger can use; SUSPEND_QUEUES demands
// it. Must come before the first queue: -EEXIST. -EBUSY: it is enabled already (CH:2793).
int enable_runtime(const Channel& channel);

// ---- DBG_TRAP: `pid` is in the caller's pid namespace. Another process than the caller's own must
// be ptraced by the calling thread (CH:2980) ----

// `event_fd`: a pipe's writing end, non-blocking. The driver writes a byte per event while it holds
// a lock, and cannot write to an eventfd at all (DBG:772). The result of the activation is only
// visible in runtime.runtime_state.
int debug_enable(const Channel& channel, pid_t pid, u64 exception_mask, int event_fd,
                 abi::RuntimeInfo& runtime);
// Whether somebody debugs the process: 1, 0 or -errno. To be asked before the ENABLE of another
// process, which makes it the caller's even where it fails with -EALREADY (CH:3027): the end of the
// caller would then be the end of a session that is not its own.
int debug_is_enabled(const Channel& channel, pid_t pid);
// Resumes every queue.
int debug_disable(const Channel& channel, pid_t pid);
int debug_send_runtime_event(const Channel& channel, pid_t pid, u64 exception_mask);

// The array is read and written: clean ids in, ids with status bits (kQueueInvalidMask,
// kQueueErrorMask) out. Returns how many queues were stopped, those stopped before included.
// `grace` is put into 1..255 unless it is kUseDefaultGracePeriod: the hardware field has 8 bits,
// and a multiple of 256 would be an infinite wait that ends in a GPU reset.
int debug_suspend_queues(const Channel& channel, pid_t pid, u32* ids, u32 count, u32 grace);
int debug_resume_queues(const Channel& channel, pid_t pid, u32* ids, u32 count);
int debug_resume_all(const Channel& channel, pid_t pid);

struct DebugEvent {
  u64 exceptions = 0;
  u32 gpu_id = 0;
  u32 queue_id = 0;
};
// -EAGAIN: no event. Clears the exceptions in `clear_mask` of the source it returns.
int debug_query_event(const Channel& channel, pid_t pid, u64 clear_mask, DebugEvent& event);

// Writes at most *count entries and sets *count to how many queues there are. Clears the exceptions
// in `clear_mask` of those written: a queue cannot be suspended until EC_QUEUE_NEW is cleared
// (DQM:1036). *count == 0 clears nothing and only counts (PQM:738).
int debug_queue_snapshot(const Channel& channel, pid_t pid, u64 clear_mask,
                         abi::QueueSnapshotEntry* entries, u32* count);

// ---- CRIU_OP: acts on the process that opened channel.fd. Needs CAP_CHECKPOINT_RESTORE or
// CAP_SYS_ADMIN, and that the caller is that process or its ptrace parent (CH:3307) ----

// Not idempotent: each call needs an unpause of its own, and a second unpause is refused.
int criu_pause(const Channel& channel);
int criu_unpause(const Channel& channel);

// Waits until this event of the own process is raised, which it then no longer is, or `timeout_ms`
// have passed: 1 or 0.
int wait_event(const Channel& channel, u32 event_id, u32 timeout_ms);

// ---- early driver builds: own process only (abi/early.h) ----

int early_preempt_queue(const Channel& channel, u32 queue_id, u32 timeout_ms);
int early_resume_queue(const Channel& channel, u32 queue_id);

}  // namespace gp::kfd
