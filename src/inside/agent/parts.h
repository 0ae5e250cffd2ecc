// Which queue is in which part of the process (model/part.h).
//
// With GPREEMPT_STREAM_CLASSES=1 the priority of a HIP stream says it: streams of high priority are
// online, those of low priority offline, the others are the rest. HIP has different queues for
// different priorities (its Device::acquireQueue), so no queue is shared by streams of different
// class. Without it a queue is of another part only when somebody says so, for priorities mean
// other things to those who set them: a trainer gives a high one to the stream that it communicates
// on.
//
// A part is one only once the daemon has taken it: until then, and where it takes none, because an
// administrator's rule says what the process is, its queues are of the rest and stopped with it.
#pragma once

#include "agent/runtime.h"
#include "model/part.h"

namespace gp::agent {

bool streams_have_classes();
Part part_of_stream(hsa_amd_queue_priority_t priority);

// The queue with this ring is of this part from now on: it runs or stands still as that does. Takes
// the stopper's mutex. 0, or -ENOENT.
int move_queue(u64 ring_base, Part part);

// The daemon has taken this part, or its connection has ended. Takes the stopper's mutex.
void part_taken(Part part, bool taken);

}  // namespace gp::agent
