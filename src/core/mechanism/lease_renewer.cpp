#include "mechanism/lease_renewer.h"

#include <signal.h>

#include <algorithm>
#include <cstring>

#include "abi/kfd_preempt.h"
#include "base/log.h"

namespace gp::mechanism {
namespace {

constexpr std::chrono::milliseconds kLongest{abi::kPreemptMaxTimeoutMs};
// Renewed when half of that is left: a machine that is busy for so long is not one to share.
constexpr auto kAhead = kLongest / 2;

}  // namespace

LeaseRenewer::~LeaseRenewer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

int LeaseRenewer::renew(Clock::time_point until) {
  using std::chrono::milliseconds;
  const auto now = Clock::now();
  const auto end = std::clamp(until, now + milliseconds(1), now + kLongest);
  const auto left = std::chrono::ceil<milliseconds>(end - now);
  const int error = renew_(static_cast<u32>(std::min(left, kLongest).count()));
  if (error == 0) {
    driver_until_ = end;
  }
  return error;
}

int LeaseRenewer::keep_until(Clock::time_point until) {
  const std::lock_guard lock(mutex_);
  if (const int error = renew(until); error < 0) {
    return error;
  }
  until_ = until;
  if (until_ > driver_until_ && !thread_.joinable()) {
    // The program's signals are for its own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  changed_.notify_all();
  return 0;
}

LeaseRenewer::Clock::time_point LeaseRenewer::until() {
  const std::lock_guard lock(mutex_);
  return until_;
}

void LeaseRenewer::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (until_ <= driver_until_) {
      changed_.wait(lock);
    } else if (Clock::now() < driver_until_ - kAhead) {
      changed_.wait_until(lock, driver_until_ - kAhead);
    } else if (const int error = renew(until_); error < 0) {
      log_error("cannot renew the lease of the driver, which will start what is stopped: {}",
                std::strerror(-error));
      until_ = driver_until_;
    }
  }
}

}  // namespace gp::mechanism
