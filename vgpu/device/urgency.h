// Who waits for the workers lends them its urgency.
//
// A worker is an ordinary thread, because it runs guest code for as long as there is any. Whoever
// takes queues off the device, or memory away from it, waits until every worker has looked up, and
// one that has no CPU at that moment looks up when the kernel gives it one: milliseconds later,
// beside programs that compute. Real hardware needs no CPU for this. So workers, and the thread
// that waits for them, are real-time for that time (libc/real_time.h) where this is permitted.
//
// A real-time worker that runs guest code would starve the machine. Three things keep it from that:
//  - it gives back what it was lent before it starts to run guest code (Urgency::guest_code_next).
//    What runs when it is lent stops after a few hundred instructions of each wave of the group;
//  - a loan ends with the scope of the one who waits;
//  - and if he has to wait longer than kLoanNs, it rests for as long before it is made again.
//
// Whoever becomes ordinary may lose its CPU at once, with a lock in its hands. A worker that has
// the device lock is lent to before that lock is waited for, and a lender is urgent until he has
// released it. The lock of the loans is an inheriting one (inheriting_mutex.h).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "device/clock.h"
#include "device/inheriting_mutex.h"

namespace vgpu::device {

constexpr u64 kLoanNs = 50'000'000;

class Urgency {
 public:
  struct Borrower {
    pid_t thread = 0;
    std::atomic<bool> lent{false};
  };

  // `lends`: false, and nobody's priority ever changes.
  explicit Urgency(bool lends = true) : lends_(lends) {}
  bool lends() const { return lends_; }
  // The calling thread is one that others wait for, from now on.
  Borrower& join();
  // By the borrower itself, before it runs guest code: nobody waits for that. Which loans there
  // were when it took the task is read under the device lock; a newer one is for this very task and
  // stays. The rest is done without the lock: who becomes ordinary may lose its CPU at once.
  u64 serial() const { return serial_.load(std::memory_order_relaxed); }
  void guest_code_next(Borrower& self, u64 serial);

  struct Counts {
    u64 loans = 0, refused = 0;  // refused: of these, by the kernel
  };
  Counts counts() const;

 private:
  friend class Loan;
  void begin();
  bool lend_to_all();  // with the mutex; false: the kernel said no
  void renew();
  void end();
  static void make_ordinary(Borrower& borrower);

  const bool lends_;
  mutable InheritingMutex mutex_;
  std::vector<std::unique_ptr<Borrower>> borrowers_;
  u32 lenders_ = 0;
  std::atomic<u64> serial_{0};
  Counts counts_;
};

// While it lives the thread that made it is real-time, and so are, in turns of kLoanNs, the
// borrowers. Made before the device lock is taken, so that it ends after its release.
class Loan {
 public:
  explicit Loan(Urgency& urgency);
  ~Loan();
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  // Once more to all: to those, too, who gave it back before the lender could say for what he
  // waits.
  void renew() { urgency_.renew(); }
  // The turn is over: next_turn() is to be called, without the device lock.
  bool turn_is_over() const { return now_ns() >= turn_ends_at_; }
  void next_turn();

 private:
  Urgency& urgency_;
  const bool lender_entered_;
  bool lent_ = true;  // false: it rests
  u64 turn_ends_at_;
};

}  // namespace vgpu::device
