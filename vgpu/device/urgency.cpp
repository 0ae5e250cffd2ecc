#include "device/urgency.h"

#include <unistd.h>

#include "base/log.h"
#include "libc/real_time.h"

namespace vgpu::device {
namespace {

void say_once_that_it_is_refused() {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    gp::log_info(
        "workers are not real-time while somebody waits for them, for want of CAP_SYS_NICE: on "
        "busy CPUs a stop may take ms longer");
  }
}

}  // namespace

Urgency::Borrower& Urgency::join() {
  auto borrower = std::make_unique<Borrower>();
  borrower->thread = ::gettid();
  const std::lock_guard lock(mutex_);
  borrowers_.push_back(std::move(borrower));
  return *borrowers_.back();
}

void Urgency::make_ordinary(Borrower& borrower) {
  if (borrower.lent.load(std::memory_order_relaxed)) {
    borrower.lent.store(false, std::memory_order_relaxed);
    gp::leave_real_time(borrower.thread);
  }
}

void Urgency::guest_code_next(Borrower& self, u64 serial) {
  if (self.lent.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    if (serial == this->serial()) {
      make_ordinary(self);
    }
  }
}

bool Urgency::lend_to_all() {
  serial_.fetch_add(1, std::memory_order_relaxed);
  bool refused = false;
  for (const auto& borrower : borrowers_) {
    if (borrower->lent.load(std::memory_order_relaxed)) {
      continue;
    }
    const bool entered = gp::enter_real_time(borrower->thread);
    borrower->lent.store(entered, std::memory_order_relaxed);
    refused = refused || (!entered && gp::is_ordinary_thread(borrower->thread));
  }
  return !refused;
}

void Urgency::begin() {
  if (!lends_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  ++lenders_;
  ++counts_.loans;
  if (!lend_to_all()) {
    ++counts_.refused;
    say_once_that_it_is_refused();
  }
}

void Urgency::renew() {
  if (!lends_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  lend_to_all();
}

void Urgency::end() {
  if (!lends_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (--lenders_ == 0) {
    for (const auto& borrower : borrowers_) {
      make_ordinary(*borrower);
    }
  }
}

Urgency::Counts Urgency::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// The lender first: those who want the lock of the loans are not to wait for one without a CPU.
Loan::Loan(Urgency& urgency)
    : urgency_(urgency), lender_entered_(urgency.lends() && gp::enter_real_time()) {
  urgency_.begin();
  turn_ends_at_ = now_ns() + kLoanNs;
}

Loan::~Loan() {
  if (lent_) {
    urgency_.end();
  }
  if (lender_entered_) {
    gp::leave_real_time();
  }
}

void Loan::next_turn() {
  lent_ = !lent_;
  if (lent_) {
    urgency_.begin();
  } else {
    urgency_.end();
  }
  turn_ends_at_ = now_ns() + kLoanNs;
}

}  // namespace vgpu::device
