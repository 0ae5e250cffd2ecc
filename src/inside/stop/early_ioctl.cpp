// PREEMPT_QUEUE and RESUME_QUEUE of early driver builds (abi/early.h). The caller has made sure
// that this driver has them: on another the numbers may mean anything.
#include "stop/mechanisms.h"

namespace gp::stop {
namespace {

constexpr u32 kTimeoutMs = 1000;

int set(Session& session, const Queue& queue, bool run) {
  return run ? kfd::early_resume_queue(session.debug.channel, queue.id)
             : kfd::early_preempt_queue(session.debug.channel, queue.id, kTimeoutMs);
}

}  // namespace

int stop_by_early_ioctl(Session& session, const u32* ids, u32 count, u32* failed_id) {
  return stop_one_by_one(session, ids, count, failed_id, set);
}

int start_by_early_ioctl(Session& session, const u32* ids, u32 count) {
  return start_one_by_one(session, ids, count, set);
}

}  // namespace gp::stop
