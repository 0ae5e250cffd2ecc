// Write protection with userfaultfd: of the doorbell page (vgpud handles the faults) and of pages
// while they move (nobody handles them; closing the descriptor lets the writers go on).
#pragma once

#include "libc/types.h"

namespace vgpu::preload {

// A userfaultfd that can write-protect anonymous and memfd memory, or -1. Faults of the kernel
// itself are caught too where that is allowed; else (vm.unprivileged_userfaultfd = 0) only those
// of user code, and a system call that writes to a protected page fails with EFAULT.
int open_userfault();
// Registers the range; false if its memory is of a kind that cannot be protected.
bool watch_writes(int userfault, gp::u64 start, gp::u64 end);
// From here on writers wait. The range must be registered.
bool protect_writes(int userfault, gp::u64 start, gp::u64 end);

}  // namespace vgpu::preload
