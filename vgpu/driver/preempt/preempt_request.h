// A call that stops some queues and resumes others, of any processes, under one lease
// (kfd_preempt_run of kernel/patches): one unmap and one run list per GPU on which it changes
// something, on all of them at the same time.
#pragma once

#include <span>

#include "driver/module.h"

namespace vgpu::driver {

struct PreemptRequest {
  std::span<abi::PreemptEntry> preempt, resume;  // each gets its status
  u32 timeout_ms = 0;            // longest wait for others at the same GPU; 0: no limit
  u32 type = abi::preempt_save;  // PreemptType, of what is stopped
  u32 resume_type = 0;           // 0: holds end; preempt_low: marks do
};

// 0, or the error of the call as a whole: nothing was done then, and no status is set.
int run_under_lease(Call& call, u32 lease_fd, const PreemptRequest& request);
// Under the lease that every process has for the early ioctls.
int run_under_implicit_lease(Call& call, const PreemptRequest& request);

}  // namespace vgpu::driver
