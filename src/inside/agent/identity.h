// What the environment says about this process: its class, priority, tag and job.
#pragma once

#include "wire/wire.h"

namespace gp::agent {

// Fills all fields of a hello but the abilities.
//   GPREEMPT_CLASS     online, offline or normal
//   GPREEMPT_PRIORITY  0..15, else AMD_QUEUE_PRIORITY
//   GPREEMPT_TAG       else AMD_QUEUE_TAG
//   GPREEMPT_JOB
// What cannot be understood counts as not said.
void describe_process(wire::Hello& hello);

}  // namespace gp::agent
