#include "daemon/leadership.h"

#include <system_error>

#include "base/log.h"

namespace gp::daemon {

Leadership::Turn::Turn(Leadership& leadership)
    : leadership_(leadership), lead_(leadership.lead_, std::defer_lock) {
  wait();
}

// Counted in waiting_ by whoever has this thread wait, before it does.
void Leadership::Turn::wait() {
  lead_.lock();
  --leadership_.waiting_;
}

void Leadership::Turn::pass_on(const std::function<void()>& slow) {
  prepare();
  lead_.unlock();
  slow();
  ++leadership_.waiting_;
  wait();
}

void Leadership::Turn::prepare() {
  Leadership& all = leadership_;
  if (all.ending_ || all.waiting_ > 0 || all.followers_.size() + 1 >= kMostThreads) {
    return;
  }
  ++all.waiting_;
  try {
    all.followers_.emplace_back([&all] {
      Turn turn(all);
      all.loop_(turn);
    });
  } catch (const std::system_error& error) {
    --all.waiting_;
    log_warning("no thread to lead the loop meanwhile: {}", error.what());
  }
}

void Leadership::run(const Loop& loop) {
  loop_ = loop;
  ++waiting_;
  {
    Turn turn(*this);
    loop_(turn);
    ending_ = true;  // one that waits now will lead once more, and must not start another
  }
  for (std::thread& follower : followers_) {
    follower.join();
  }
  followers_.clear();
}

}  // namespace gp::daemon
