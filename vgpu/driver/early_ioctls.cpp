// PREEMPT_QUEUE and RESUME_QUEUE (abi/early.h), if the device was started with them. They follow
// the published argument structs; no driver that has them has been seen. What is left open there is
// decided here: only saving waves is supported, a stop of a stopped queue and a start of a running
// one do nothing, and every other reason for a queue to be off the hardware counts beside this one.
#include <cerrno>

#include "driver/handlers.h"
#include "driver/queues.h"

namespace vgpu::driver {
namespace {

// For the owner of the file alone: ids are those of its own process.
int set_preempted(Call& call, u32 queue_id, bool preempted) {
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
    case abi::early_save: return set_preempted(call, args.queue_id, true);
    case abi::early_drain:
    case abi::early_reset: return -EOPNOTSUPP;
    default: return -EINVAL;
  }
}

int early_resume_queue(Call& call, abi::EarlyResumeArgs& args) {
  return set_preempted(call, args.queue_id, false);
}

}  // namespace vgpu::driver
