// PREEMPT_QUEUE and RESUME_QUEUE (abi/early.h), if the device was started with them. They follow
// the published argument structs; no driver that has them has been seen. What is left open there is
// decided here: only saving waves is supported, a stop of a stopped queue and a start of a running
// one do nothing, and every other reason for a queue to be off the hardware counts beside this one.
//
// A driver with kernel/patches answers them too, if it was built so: there they are holds under a
// lease that every process has without asking.
#include <algorithm>
#include <cerrno>

#include "driver/handlers.h"
#include "driver/preempt/preempt_request.h"
#include "driver/queues/queues.h"

namespace vgpu::driver {
namespace {

int set_held(Call& call, u32 queue_id, u32 timeout_ms, bool held) {
  abi::PreemptEntry entry = {};
  entry.queue_id = queue_id;
  PreemptRequest request;
  (held ? request.preempt : request.resume) = {&entry, 1};
  request.timeout_ms = timeout_ms;
  const int error = run_under_implicit_lease(call, request);
  return error ? error : std::min(entry.status, 0);
}

// For the owner of the file alone: ids are those of its own process.
int set_preempted(Call& call, u32 queue_id, u32 timeout_ms, bool preempted) {
  if (call.module.config.kernel_patches) {
    return set_held(call, queue_id, timeout_ms, preempted);
  }
  const std::lock_guard lock(call.process.mutex);
  const QueuePtr queue = call.process.find_queue(queue_id);
  if (!queue) {
    return -EINVAL;
  }
  Dqm& dqm = *queue->device->node.dqm;
  {
    const std::lock_guard dqm_lock(dqm.mutex());
    if (queue->is_preempted == preempted) {
      return 0;
    }
  }
  return dqm.update_queue(*queue, [&] { queue->is_preempted = preempted; });
}

}  // namespace

// The timeout is the caller's guess at how long saving takes; the device has its own
// (--hws-timeout), as amdkfd has.
int early_preempt_queue(Call& call, abi::EarlyPreemptArgs& args) {
  switch (args.preempt_type) {
    case abi::early_save: return set_preempted(call, args.queue_id, args.timeout_ms, true);
    case abi::early_drain:
    case abi::early_reset: return -EOPNOTSUPP;
    default: return -EINVAL;
  }
}

int early_resume_queue(Call& call, abi::EarlyResumeArgs& args) {
  return set_preempted(call, args.queue_id, 0, false);
}

}  // namespace vgpu::driver
