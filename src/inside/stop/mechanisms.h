// How each way stops and starts the queues of a session; session.cpp chooses. Ids are checked and
// in the session's table.
#pragma once

#include "stop/session.h"

namespace gp::stop {

// update_queue.cpp
int stop_by_update(Session& session, const u32* ids, u32 count, u32* failed_id);
int start_by_update(Session& session, const u32* ids, u32 count);
// early_ioctl.cpp
int stop_by_early_ioctl(Session& session, const u32* ids, u32 count, u32* failed_id);
int start_by_early_ioctl(Session& session, const u32* ids, u32 count);

// For the ways with one call per queue: stops those that run, in order. If one fails, those stopped
// by this call run again.
int stop_one_by_one(Session& session, const u32* ids, u32 count, u32* failed_id,
                    int (*set)(Session& session, const Queue& queue, bool run));
// Goes on after a failure, and returns the first.
int start_one_by_one(Session& session, const u32* ids, u32 count,
                     int (*set)(Session& session, const Queue& queue, bool run));

}  // namespace gp::stop
