// Two ioctls of early driver builds that stop one queue of the calling process. They are not part
// of any released driver, and AMD may give their numbers to something else (the DKMS driver uses
// 0x80 to 0x86): they are sent only where the configuration says that the driver has them.
#pragma once

#include "libc/types.h"

namespace gp::abi {

enum EarlyNr : u32 {
  early_preempt_queue = 0x87,
  early_resume_queue = 0x88,
};

enum EarlyPreemptType : u32 {
  early_drain = 0,  // waits until running waves have ended
  early_reset = 1,  // their work is lost
  early_save = 2,   // context save, as in SUSPEND_QUEUES
};

struct EarlyPreemptArgs {
  u32 queue_id;      // in
  u32 preempt_type;  // in: EarlyPreemptType
  u32 timeout_ms;    // in
  u32 pad;
};
static_assert(sizeof(EarlyPreemptArgs) == 16);

struct EarlyResumeArgs {
  u32 queue_id;  // in
  u32 pad[3];
};
static_assert(sizeof(EarlyResumeArgs) == 16);

}  // namespace gp::abi
