// Keeps a lease of the driver for longer than the driver gives it at a time (kPreemptMaxTimeoutMs):
// a thread renews it while time is wanted, and sleeps otherwise. There is none until it is needed.
// If this process dies or stands still, the lease ends within a minute.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "libc/types.h"

namespace gp::mechanism {

class LeaseRenewer {
 public:
  using Clock = std::chrono::steady_clock;
  // Asks the driver for so many milliseconds from now on. 0 or -errno.
  using Renew = std::function<int(u32 timeout_ms)>;

  explicit LeaseRenewer(Renew renew) : renew_(std::move(renew)) {}
  LeaseRenewer(const LeaseRenewer&) = delete;
  LeaseRenewer& operator=(const LeaseRenewer&) = delete;
  ~LeaseRenewer();

  // The lease ends then, not before; Clock::time_point::max(): with this object. 0 or -errno.
  int keep_until(Clock::time_point until);
  Clock::time_point until();

 private:
  int renew(Clock::time_point until);
  void run();

  const Renew renew_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point until_ = Clock::time_point::min();         // wanted
  Clock::time_point driver_until_ = Clock::time_point::min();  // as the driver has it
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace gp::mechanism
