// How the kernel series' calls name the process they are about (docs/kernel.md, "Who may stop
// whom"): ourselves; or a copy of its /dev/kfd, which nobody gets without ptrace access to it and
// which neither a reused pid nor a pid namespace can mislead; or its pid, with CAP_SYS_NICE.
//
// A process that was forked without exec has its parent's /dev/kfd too, and the driver would take
// that for the parent. So a descriptor counts only if the parent has not the same, and only of a
// process that the driver knows as one of its own.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "discover/snapshot.h"

namespace gp::mechanism {

// As struct kfd_preempt_entry has it. The copy of the file lives for one call: for as long as it is
// open, what is left of a dead process stays (queues and memory included).
struct KernelTargetName {
  u32 target = 0;
  u32 flags = 0;
  UniqueFd file;
};

class KernelTarget {
 public:
  static Result<KernelTarget> find(const ProcessKey& process);

  pid_t pid() const { return pid_; }
  bool is_self() const { return !pidfd_; }
  int pidfd() const { return pidfd_.get(); }  // -1: it is this process
  bool ended() const;
  // For the next call. ESRCH if the process has ended.
  Result<KernelTargetName> name();

 private:
  KernelTarget(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  void look_for_descriptor();
  UniqueFd copy_if_same() const;

  pid_t pid_;
  UniqueFd pidfd_;
  int descriptor_ = -1;         // its /dev/kfd; -1: named by pid
  u64 device_ = 0, inode_ = 0;  // of that file: the number may come to mean another one
};

}  // namespace gp::mechanism
