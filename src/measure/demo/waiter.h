// The one place where the demo waits: for its programs, for Ctrl-C, never for ever.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "demo/child.h"
#include "demo/progress.h"

namespace gp::demo {

class Waiter {
 public:
  // `end_signals` is readable when the user wants the demo to end.
  Waiter(int end_signals, Progress& progress) : end_signals_(end_signals), progress_(progress) {}

  // Until it is so; what the children say is shown meanwhile. EINTR if the user wants to end,
  // ETIMEDOUT if it takes far too long, and the failure of the first child that ends with another
  // status than 0.
  Status wait(const char* what, const std::vector<Child*>& children,
              const std::function<bool()>& done,
              std::chrono::milliseconds patience = std::chrono::minutes(2)) const;
  // The user wants to end.
  bool is_ended() const;

 private:
  int end_signals_;
  Progress& progress_;
};

}  // namespace gp::demo
