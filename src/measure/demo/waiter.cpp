#include "demo/waiter.h"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

namespace gp::demo {
namespace {

constexpr int kTickMs = 50;

std::string words_of(const std::vector<Child*>& children) {
  std::string text;
  for (const Child* child : children) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "  ", child->name(), child->last_line());
  }
  return text;
}

}  // namespace

Status Waiter::wait(const char* what, const std::vector<Child*>& children,
                    const std::function<bool()>& done, std::chrono::milliseconds patience) const {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    std::vector<pollfd> ready = {{end_signals_, POLLIN, 0}};
    for (Child* child : children) {
      child->update();
      if (child->status().value_or(0) != 0) {
        return child->failure();
      }
      ready.push_back({child->output(), POLLIN, 0});
    }
    if (done()) {
      return ok();
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return Error{ETIMEDOUT, fmt::format("waited for {}", what), "is the machine very busy?"};
    }
    ::poll(ready.data(), ready.size(), kTickMs);
    if (ready[0].revents != 0) {
      return Error{EINTR, "the demo", ""};
    }
    progress_.update(words_of(children));
  }
}

bool Waiter::is_ended() const {
  pollfd signals = {end_signals_, POLLIN, 0};
  return ::poll(&signals, 1, 0) > 0;
}

}  // namespace gp::demo
