#include "daemon/closer.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace gp::daemon {
namespace {

// Interrupts this thread again and again while it lives.
class Prod {
 public:
  Prod() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGRTMIN, &action, nullptr);  // without SA_RESTART
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGRTMIN);
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN;
    event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
    is_there_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  }
  Prod(const Prod&) = delete;
  Prod& operator=(const Prod&) = delete;
  ~Prod() {
    if (is_there_) {
      ::timer_delete(timer_);
    }
  }
  void set(long interval_ns) const {
    if (is_there_) {
      const timespec interval = {0, interval_ns};
      const itimerspec times = {interval, interval};
      ::timer_settime(timer_, 0, &times, nullptr);
    }
  }

 private:
  timer_t timer_ = nullptr;
  bool is_there_ = false;
};

constexpr long kLongestCloseNs = 200'000;

}  // namespace

Closer::~Closer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Closer::close(UniqueFd socket) {
  {
    const std::lock_guard lock(mutex_);
    sockets_.push_back(std::move(socket));
  }
  wake_.notify_one();
}

void Closer::run() {
  const Prod prod;
  std::unique_lock lock(mutex_);
  while (!ending_ || !sockets_.empty()) {
    wake_.wait(lock, [this] { return ending_ || !sockets_.empty(); });
    std::vector<UniqueFd> sockets;
    sockets.swap(sockets_);
    lock.unlock();
    prod.set(kLongestCloseNs);
    sockets.clear();
    prod.set(0);
    lock.lock();
  }
}

}  // namespace gp::daemon
