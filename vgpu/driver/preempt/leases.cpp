#include "driver/preempt/leases.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/log.h"
#include "device/clock.h"
#include "driver/module.h"
#include "driver/preempt/on_gpus.h"

namespace vgpu::driver {
namespace {

constexpr u64 kNsPerMs = 1'000'000;

bool is_closed_everywhere(const Lease& lease) {
  pollfd other_side = {lease.own_end.get(), 0, 0};
  return lease.own_end && poll(&other_side, 1, 0) == 1 && other_side.revents & POLLERR;
}

// One unmap and one run list, if it held something here.
void release_on(Node& node, const Lease& lease, u32 before_term) {
  const std::lock_guard lock(node.dqm->mutex());
  bool changed = false;
  node.dqm->release_lease(lease, before_term, &changed);
  const int error = changed ? node.dqm->apply_holds() : 0;
  if (error) {
    log_error("gpu {:x}: restarting preempted queues: error {}", node.gpu_id, -error);
  }
}

}  // namespace

// The process must be locked and not abandoned: one on its way out has had its release_owned_by(),
// or will have it.
LeasePtr Leases::add(const Process& owner, FileId file, UniqueFd own_end) {
  auto lease = std::make_shared<Lease>();
  lease->file = file;
  lease->own_end = std::move(own_end);
  lease->owner = &owner;
  const std::lock_guard lock(mutex_);
  leases_.push_back(lease);
  return lease;
}

int Leases::create(Process& owner, u32 timeout_ms, UniqueFd* file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return -errno;
  }
  UniqueFd theirs(ends[0]), ours(ends[1]);
  UniqueFd watched(fcntl(ours.get(), F_DUPFD_CLOEXEC, 0));
  struct stat status {};
  if (!watched || fstat(theirs.get(), &status) != 0) {
    return -errno;
  }
  LeasePtr lease;
  {
    const std::lock_guard process_lock(owner.mutex);
    if (owner.abandoned) {
      return owner.abandoned;
    }
    if (has_too_many(owner)) {
      return -ENOSPC;
    }
    lease = add(owner, {status.st_dev, status.st_ino}, std::move(ours));
  }
  set_deadline(lease, timeout_ms);
  module_.work->watch(std::move(watched), [this] { release_closed(); });
  *file = std::move(theirs);
  return 0;
}

bool Leases::has_too_many(const Process& owner) {
  const std::lock_guard lock(mutex_);
  return std::count_if(leases_.begin(), leases_.end(), [&](const LeasePtr& lease) {
           return lease->own_end && lease->owner == &owner;
         }) >= abi::kPreemptMaxLeases;
}

FoundLease Leases::find(const Process& caller, std::optional<FileId> file) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find_if(leases_.begin(), leases_.end(), [&](const LeasePtr& lease) {
    return lease->own_end && file && lease->file == *file;
  });
  if (place == leases_.end()) {
    return {nullptr, -EBADF};
  }
  return (*place)->owner == &caller ? FoundLease{*place} : FoundLease{nullptr, -EPERM};
}

FoundLease Leases::find_implicit(Process& owner) {
  const std::lock_guard process_lock(owner.mutex);  // one at a time: there is only one such lease
  if (owner.abandoned) {
    return {nullptr, owner.abandoned};
  }
  const LeasePtr known = implicit_lease_of(owner);
  return {known ? known : add(owner, {}, UniqueFd())};
}

LeasePtr Leases::implicit_lease_of(const Process& owner) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find_if(leases_.begin(), leases_.end(), [&](const LeasePtr& lease) {
    return lease->owner == &owner && !lease->own_end;
  });
  return place == leases_.end() ? nullptr : *place;
}

void Leases::set_deadline(const LeasePtr& lease, u32 timeout_ms) {
  const std::lock_guard lock(lease->mutex);
  module_.work->cancel(lease->expiry);
  lease->expired = false;
  lease->deadline_ns = timeout_ms ? device::now_ns() + timeout_ms * kNsPerMs : 0;
  if (timeout_ms) {
    std::weak_ptr<Lease> weak = lease;
    lease->expiry = module_.work->add_after(timeout_ms * kNsPerMs, [this, weak] {
      if (const LeasePtr due = weak.lock()) {
        expire(due);
      }
    });
  }
}

// Each GPU is told by a thread of its own: one that is slow keeps nobody stopped on another.
void Leases::expire(const LeasePtr& lease) {
  const std::lock_guard lock(lease->mutex);
  // It may have been renewed while this waited for the lock.
  if (!lease->deadline_ns || device::now_ns() < lease->deadline_ns) {
    return;
  }
  lease->expired = true;
  const u32 term = ++lease->term;
  for (const auto& node : module_.nodes) {
    node->releases.add([lease, term, gpu = node.get()] { release_on(*gpu, *lease, term); });
  }
}

// Found in the list until everything is given back.
void Leases::end(const LeasePtr& lease) {
  u32 term;
  {
    const std::lock_guard lock(lease->mutex);
    lease->owner = nullptr;
    module_.work->cancel(lease->expiry);
    lease->deadline_ns = 0;
    term = ++lease->term;
  }
  on_gpus(module_.nodes, [&](Node& node) { release_on(node, *lease, term); });
  const bool is_known_by_file = lease->own_end && !is_closed_everywhere(*lease);
  if (!is_known_by_file) {
    const std::lock_guard lock(mutex_);
    leases_.remove(lease);
  }
}

void Leases::release_closed() {
  std::vector<LeasePtr> closed;
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(leases_.begin(), leases_.end(), std::back_inserter(closed),
                 [](const LeasePtr& lease) { return is_closed_everywhere(*lease); });
  }
  for (const LeasePtr& lease : closed) {
    end(lease);
  }
}

void Leases::release_owned_by(const Process& owner) {
  std::vector<LeasePtr> owned;
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(leases_.begin(), leases_.end(), std::back_inserter(owned),
                 [&](const LeasePtr& lease) { return lease->owner == &owner; });
  }
  for (const LeasePtr& lease : owned) {
    end(lease);
  }
}

}  // namespace vgpu::driver
