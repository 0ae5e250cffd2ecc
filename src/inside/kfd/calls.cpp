#include "kfd/calls.h"

#include <errno.h>

#include "kfd/request.h"

namespace gp::kfd {
namespace {

abi::DbgTrapArgs debug_args(pid_t pid, u32 op) {
  abi::DbgTrapArgs args = {};
  args.pid = static_cast<u32>(pid);
  args.op = op;
  return args;
}
int debug_call(const Channel& channel, abi::DbgTrapArgs& args) {
  return call(channel, kBoth, abi::kfd_dbg_trap, args);
}

u32 safe_grace(u32 grace) {
  constexpr u32 kLeast = 1, kMost = 255;
  if (grace == abi::kUseDefaultGracePeriod) {
    return grace;
  }
  return grace < kLeast ? kLeast : grace > kMost ? kMost : grace;
}

int runtime_call(const Channel& channel, u32 mode) {
  abi::RuntimeEnableArgs args = {};
  args.mode_mask = mode;
  return call(channel, kBoth, abi::kfd_runtime_enable, args);
}

int criu_call(const Channel& channel, u32 op) {
  abi::CriuArgs args = {};
  args.op = op;
  return call(channel, kBoth, abi::kfd_criu_op, args);
}

}  // namespace

int get_version(const Channel& channel, Version& version) {
  abi::GetVersionArgs args = {};
  const int result = call(channel, kReadBack, abi::kfd_get_version, args);
  version = {args.major_version, args.minor_version};
  return result;
}

int update_queue(const Channel& channel, const abi::UpdateQueueArgs& args) {
  abi::UpdateQueueArgs copy = args;
  return call(channel, kPassIn, abi::kfd_update_queue, copy);
}

int enable_runtime(const Channel& channel) { return runtime_call(channel, abi::kRuntimeEnable); }

int debug_enable(const Channel& channel, pid_t pid, u64 exception_mask, int event_fd,
                 abi::RuntimeInfo& runtime) {
  abi::DbgTrapArgs args = debug_args(pid, abi::dbg_enable);
  args.enable = {exception_mask, address_of(&runtime), sizeof(runtime), static_cast<u32>(event_fd)};
  return debug_call(channel, args);
}

int debug_disable(const Channel& channel, pid_t pid) {
  abi::DbgTrapArgs args = debug_args(pid, abi::dbg_disable);
  return debug_call(channel, args);
}

int debug_send_runtime_event(const Channel& channel, pid_t pid, u64 exception_mask) {
  abi::DbgTrapArgs args = debug_args(pid, abi::dbg_send_runtime_event);
  args.send_runtime_event = {exception_mask, 0, 0};
  return debug_call(channel, args);
}

int debug_suspend_queues(const Channel& channel, pid_t pid, u32* ids, u32 count, u32 grace) {
  abi::DbgTrapArgs args = debug_args(pid, abi::dbg_suspend_queues);
  args.suspend_queues = {0, address_of(ids), count, safe_grace(grace)};
  return debug_call(channel, args);
}

int debug_resume_queues(const Channel& channel, pid_t pid, u32* ids, u32 count) {
  abi::DbgTrapArgs args = debug_args(pid, abi::dbg_resume_queues);
  args.resume_queues = {address_of(ids), count, 0};
  return debug_call(channel, args);
}

int debug_resume_all(const Channel& channel, pid_t pid) {
  return debug_resume_queues(channel, pid, nullptr, 0);
}

int debug_query_event(const Channel& channel, pid_t pid, u64 clear_mask, DebugEvent& event) {
  abi::DbgTrapArgs args = debug_args(pid, abi::dbg_query_debug_event);
  args.query_debug_event.exception_mask = clear_mask;
  const int result = debug_call(channel, args);
  event = {args.query_debug_event.exception_mask, args.query_debug_event.gpu_id,
           args.query_debug_event.queue_id};
  return result;
}

int debug_queue_snapshot(const Channel& channel, pid_t pid, u64 clear_mask,
                         abi::QueueSnapshotEntry* entries, u32* count) {
  abi::DbgTrapArgs args = debug_args(pid, abi::dbg_get_queue_snapshot);
  args.queue_snapshot = {clear_mask, address_of(entries), *count, sizeof(abi::QueueSnapshotEntry)};
  const int result = debug_call(channel, args);
  *count = args.queue_snapshot.count;
  return result;
}

// Counting the queues changes nothing. Every operation but ENABLE is refused with EINVAL where
// nobody debugs.
int debug_is_enabled(const Channel& channel, pid_t pid) {
  u32 count = 0;
  const int result = debug_queue_snapshot(channel, pid, 0, nullptr, &count);
  return result == -EINVAL ? 0 : result < 0 ? result : 1;
}

int criu_pause(const Channel& channel) { return criu_call(channel, abi::criu_process_info); }
int criu_unpause(const Channel& channel) { return criu_call(channel, abi::criu_unpause); }

int wait_event(const Channel& channel, u32 event_id, u32 timeout_ms) {
  abi::EventData event = {};
  event.event_id = event_id;
  abi::WaitEventsArgs args = {};
  args.events_ptr = address_of(&event);
  args.num_events = 1;
  args.timeout = timeout_ms;
  const int result = call(channel, kBoth, abi::kfd_wait_events, args);
  return result < 0 ? result : args.wait_result == abi::wait_complete ? 1 : 0;
}

int early_preempt_queue(const Channel& channel, u32 queue_id, u32 timeout_ms) {
  abi::EarlyPreemptArgs args = {queue_id, abi::early_save, timeout_ms, 0};
  static_assert(_IOC(kBoth, abi::kKfdIoctlBase, abi::early_preempt_queue, sizeof(args)) ==
                0xc0104b87);
  return call(channel, kBoth, abi::early_preempt_queue, args);
}

int early_resume_queue(const Channel& channel, u32 queue_id) {
  abi::EarlyResumeArgs args = {queue_id, {}};
  static_assert(_IOC(kBoth, abi::kKfdIoctlBase, abi::early_resume_queue, sizeof(args)) ==
                0xc0104b88);
  return call(channel, kBoth, abi::early_resume_queue, args);
}

}  // namespace gp::kfd
