// UPDATE_QUEUE with percentage 0 takes a queue out of the run list with its waves saved, 100 puts
// it back (kfd_device_queue_manager.c:906): what ROCr's own AqlQueue::Suspend() does.
//
// The call sets everything else too: ring address and size must be those of the creation (EFAULT
// from Linux 6.12 on, not compared before), and the priority is overwritten, so we must know it.
#include <errno.h>

#include "stop/mechanisms.h"

namespace gp::stop {
namespace {

int set(Session& session, const Queue& queue, bool run) {
  // A ring address of 0 would also stop the queue, and wipe where its ring is.
  if (queue.ring_base == 0 || queue.ring_bytes == 0 || !queue.priority_known) {
    return -EOPNOTSUPP;
  }
  const abi::UpdateQueueArgs args = {queue.ring_base, queue.id, queue.ring_bytes,
                                     run ? abi::kMaxQueuePercentage : 0, queue.priority};
  return kfd::update_queue(session.debug.channel, args);
}

}  // namespace

int stop_by_update(Session& session, const u32* ids, u32 count, u32* failed_id) {
  return stop_one_by_one(session, ids, count, failed_id, set);
}

int start_by_update(Session& session, const u32* ids, u32 count) {
  return start_one_by_one(session, ids, count, set);
}

}  // namespace gp::stop
