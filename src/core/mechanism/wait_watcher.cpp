#include "mechanism/wait_watcher.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "libc/eventfd.h"

namespace gp::mechanism {

int WaitWatcher::start(pid_t pid) {
  pid_ = pid;
  event_.reset(make_event());
  if (!event_) {
    return -errno;
  }
  sem_init(&taken_, 0, 0);
  const int error = pthread_create(&thread_, nullptr, thread_main, this);
  running_ = error == 0;
  return -error;
}

// waitid() and sem_wait() are cancellation points, and neither leaves anything behind.
void WaitWatcher::stop() {
  if (running_) {
    pthread_cancel(thread_);
    pthread_join(thread_, nullptr);
    sem_destroy(&taken_);
    running_ = false;
  }
}

bool WaitWatcher::take_report() {
  clear_event(event_.get());
  return !gone_.load(std::memory_order_acquire);  // pairs with the release in watch()
}

void* WaitWatcher::thread_main(void* self) {
  static_cast<WaitWatcher*>(self)->watch();
  return nullptr;
}

// With __WCLONE, and without __WALL, a child of ours counts only while it is traced
// (eligible_child, kernel/exit.c): its exit is its parent's to see.
void WaitWatcher::watch() {
  for (;;) {
    siginfo_t info = {};
    int result = 0;
    do {
      result =
          ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT | __WCLONE);
    } while (result != 0 && errno == EINTR);
    const bool stopped =
        result == 0 && (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED);
    gone_.store(!stopped, std::memory_order_release);
    signal_event(event_.get());
    if (!stopped) {
      return;
    }
    while (sem_wait(&taken_) != 0) {
    }
  }
}

}  // namespace gp::mechanism
