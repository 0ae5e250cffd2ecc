// One thread ends the leases that nobody ends: it sleeps until the first deadline, or until an
// owner or a target goes (their descriptors become readable).
#include <poll.h>

#include <algorithm>

#include "base/log.h"
#include "libc/eventfd.h"
#include "mechanism/controlled_process.h"
#include "mechanism/controller.h"

namespace gp::mechanism {

int Controller::gather(std::vector<pollfd>& fds, std::vector<Watched>& watched) {
  const std::lock_guard lock(mutex_);
  fds = {{wake_event_.get(), POLLIN, 0}};
  watched = {{}};
  auto first = Clock::time_point::max();
  for (const auto& [id, lease] : leases_) {
    first = std::min(first, lease.deadline);
    if (lease.owner) {
      fds.push_back({lease.owner.get(), POLLIN, 0});
      watched.push_back({id, LeaseEnd::owner_died, nullptr});
    }
    for (const Held& held : lease.held) {
      if (held.gone) {
        fds.push_back({held.gone.get(), POLLIN, 0});
        watched.push_back({id, LeaseEnd::target_gone, held.process.get()});
      }
    }
  }
  keeper_sleeps_until_ = first;
  if (closing_ || first == Clock::time_point::max()) {
    return closing_ ? 0 : -1;
  }
  // Rounded up: a lease is not ended early, and the thread does not spin in its last millisecond.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 24L * 3600 * 1000));
}

std::vector<LeaseId> Controller::overdue() {
  const std::lock_guard lock(mutex_);
  std::vector<LeaseId> ids;
  for (const auto& [id, lease] : leases_) {
    if (lease.deadline <= Clock::now()) {
      ids.push_back(id);
    }
  }
  return ids;
}

void Controller::keep_leases() {
  std::vector<pollfd> fds;
  std::vector<Watched> watched;
  for (;;) {
    const int timeout = gather(fds, watched);
    ::poll(fds.data(), fds.size(), timeout);
    {
      const std::lock_guard lock(mutex_);
      if (closing_) {
        return;
      }
    }
    clear_event(wake_event_.get());
    for (std::size_t i = 1; i < fds.size(); i++) {
      if (fds[i].revents == 0) {
        continue;
      }
      if (watched[i].why == LeaseEnd::target_gone) {
        target_gone(watched[i].lease, watched[i].process);
      } else {
        end_by_itself(watched[i].lease, watched[i].why);
      }
    }
    for (const LeaseId id : overdue()) {
      end_by_itself(id, LeaseEnd::deadline);
    }
  }
}

void Controller::end_by_itself(LeaseId id, LeaseEnd why) {
  std::unique_lock lock(mutex_);
  auto node = leases_.extract(id);
  lock.unlock();
  if (node.empty()) {
    return;  // somebody else was faster
  }
  if (const Status ended = end(node.mapped()); !ended) {
    log_warning("lease {}: {}", id, ended.error().message());
    why = LeaseEnd::failed;
  }
  lock.lock();
  events_.push_back({id, why});
  signal_event(user_event_.get());
}

// The other processes of the lease stay stopped; without any it ends.
void Controller::target_gone(LeaseId id, const ControlledProcess* process) {
  ProcessPtr gone;
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found == leases_.end()) {
      return;
    }
    std::vector<Held>& held = found->second.held;
    const auto which = std::find_if(held.begin(), held.end(),
                                    [&](const Held& h) { return h.process.get() == process; });
    if (which == held.end()) {
      return;
    }
    gone = which->process;
    gone->release(id);
    held.erase(which);
    last = held.empty();
  }
  if (const Status detached = gone->detach(); !detached) {
    log_debug("{}", detached.error().message());
  }
  if (last) {
    end_by_itself(id, LeaseEnd::target_gone);
  }
}

}  // namespace gp::mechanism
