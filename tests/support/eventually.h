// Waiting for what will happen.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace gp {

// Whether the condition becomes true; false only after far more time than anything here takes on a
// busy machine. It looks again soon at first, then less often: to look may be costly.
template <class Condition>
bool eventually(Condition condition) {
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + std::chrono::seconds(60);
  std::chrono::microseconds pause{20};
  while (!condition()) {
    if (Clock::now() > give_up) {
      return false;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace gp
