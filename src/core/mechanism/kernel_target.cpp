#include "mechanism/kernel_target.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "abi/kfd_preempt.h"
#include "mechanism/target_process.h"
#include "stop/queue_ids.h"

namespace gp::mechanism {
namespace {

// By its folder in sysfs, which is there from the first open of /dev/kfd on.
bool is_known_to_driver(pid_t pid) {
  auto ids = std::make_unique<stop::QueueIds>();
  return stop::list_queue_ids(pid, *ids) == 0;
}

bool same_file(pid_t one, int one_number, pid_t other, int other_number) {
  constexpr int kFile = 0;  // KCMP_FILE of linux/kcmp.h, which not every system has
  return ::syscall(SYS_kcmp, one, other, kFile, one_number, other_number) == 0;
}

// The number of a /dev/kfd that the process has opened itself, the latest; -1: there is none.
int own_descriptor(pid_t pid) {
  const auto numbers = kfd_descriptors(pid);
  const auto state = process_state(pid);
  if (!numbers || !state) {
    return -1;
  }
  const auto of_parent = kfd_descriptors(state->parent);
  const auto inherited = [&](int number) {
    return of_parent && std::any_of(of_parent->begin(), of_parent->end(), [&](int parents) {
             return same_file(pid, number, state->parent, parents);
           });
  };
  const auto own = std::find_if_not(numbers->rbegin(), numbers->rend(), inherited);
  return own == numbers->rend() ? -1 : *own;
}

}  // namespace

Result<KernelTarget> KernelTarget::find(const ProcessKey& process) {
  UniqueFd pidfd = TRY(open_target(process));
  if (process.pid == ::getpid()) {
    pidfd.reset();
  }
  KernelTarget target(process.pid, std::move(pidfd));
  if (!target.is_self()) {
    target.look_for_descriptor();
  }
  return target;
}

bool KernelTarget::ended() const {
  pollfd fd{pidfd_.get(), POLLIN, 0};
  return !is_self() && ::poll(&fd, 1, 0) == 1;
}

void KernelTarget::look_for_descriptor() {
  descriptor_ = -1;
  const int number = is_known_to_driver(pid_) ? own_descriptor(pid_) : -1;
  if (number < 0) {
    return;
  }
  const auto file = copy_descriptor(pid_, pidfd_.get(), number);
  struct stat status {};
  if (!file || ::fstat(file->get(), &status) != 0) {
    return;
  }
  descriptor_ = number;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

UniqueFd KernelTarget::copy_if_same() const {
  if (descriptor_ < 0) {
    return {};
  }
  auto file = copy_descriptor(pid_, pidfd_.get(), descriptor_);
  struct stat status {};
  const bool same = file && ::fstat(file->get(), &status) == 0 && status.st_dev == device_ &&
                    status.st_ino == inode_;
  return same ? std::move(*file) : UniqueFd();
}

Result<KernelTargetName> KernelTarget::name() {
  if (is_self()) {
    return KernelTargetName{};
  }
  if (ended()) {
    return Error{ESRCH, fmt::format("process {} has ended", pid_), ""};
  }
  UniqueFd file = copy_if_same();
  if (!file && descriptor_ >= 0) {
    look_for_descriptor();  // it runs another program now, or has opened the device again
    file = copy_if_same();
  }
  if (file) {
    const u32 number = static_cast<u32>(file.get());
    return KernelTargetName{number, abi::kPreemptTargetFd, std::move(file)};
  }
  return KernelTargetName{static_cast<u32>(pid_), 0, UniqueFd()};
}

}  // namespace gp::mechanism
