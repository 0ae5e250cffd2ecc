// `gpreempt verify`: does gpreempt work on this machine? Steps, each with its verdicts.
#pragma once

#include "base/result.h"
#include "report/results.h"
#include "verify/setting.h"

namespace gp::verify {

// All steps, whatever comes of each. If the user ends it, what was found until then is in the
// results, which say so.
void run_steps(Setting& setting, report::Results& results);

// Whoever has queues on this GPU: "1234 python train.py". Empty: nobody, as far as is known.
std::vector<std::string> users_of(const discover::Snapshot& snapshot, u32 gpu_id);

// 0: all that was judged is met. 1: something is missed. 5: nothing here can stop a running kernel.
int exit_status(const report::Results& results);

}  // namespace gp::verify
