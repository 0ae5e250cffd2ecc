#include "daemon/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <new>

#include "base/log.h"
#include "daemon/loop.h"
#include "libc/eventfd.h"

namespace gp::daemon {
namespace {

constexpr u64 kMs = 1'000'000;
constexpr u64 kGraceNs = 250 * kMs;         // a busy machine is not a stuck daemon
constexpr u64 kQuickDeathNs = 1'000 * kMs;  // a daemon that lived shorter never worked
constexpr int kMostQuickDeaths = 5;
constexpr int kPassedOn[] = {SIGTERM, SIGINT, SIGHUP};

struct Guardian {
  Board* board = nullptr;
  UniqueFd signals, board_changed, daemon_pidfd;
  UniqueFd lifetime_read, lifetime_write;
  pid_t daemon = 0;
  bool ending = false;  // we were asked to stop: a daemon that dies now is not replaced
  bool killed = false;  // the daemon, by us: all that is left to do is to wait for its end
};

sigset_t passed_on() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kPassedOn) {
    ::sigaddset(&set, signal);
  }
  return set;
}

Result<Guardian> prepare() {
  Guardian guardian;
  void* memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{errno, "map the guardian's board", ""};
  }
  guardian.board = new (memory) Board;
  const sigset_t signals = passed_on();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  guardian.signals.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  guardian.board_changed.reset(make_event());
  int ends[2];
  if (!guardian.signals || !guardian.board_changed || ::pipe2(ends, O_CLOEXEC) != 0) {
    return Error{errno, "prepare the guardian", ""};
  }
  guardian.lifetime_read.reset(ends[0]);
  guardian.lifetime_write.reset(ends[1]);
  return guardian;
}

// The child keeps only what is a ward's; the guardian's signals stay blocked for its own signalfd.
Status start_daemon(Guardian& guardian, const std::function<int(Ward)>& daemon) {
  guardian.board->deadline_ns.store(0);
  guardian.killed = false;
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error{errno, "fork the daemon", ""};
  }
  if (pid == 0) {
    ::prctl(PR_SET_NAME, "gpreemptd");
    guardian.signals.reset();
    guardian.lifetime_write.reset();
    guardian.daemon_pidfd.reset();
    ::_exit(daemon(
        {guardian.board, std::move(guardian.lifetime_read), std::move(guardian.board_changed)}));
  }
  guardian.daemon = pid;
  guardian.daemon_pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!guardian.daemon_pidfd) {
    return Error{errno, "watch the daemon", "pidfd_open needs Linux 5.3"};
  }
  return ok();
}

int milliseconds_to_deadline(const Guardian& guardian) {
  if (guardian.killed) {
    return -1;
  }
  Board& board = *guardian.board;
  board.guardian_sleeps.store(true);  // until it is known that there is a deadline
  const u64 deadline = board.deadline_ns.load();
  if (deadline == 0) {
    return -1;
  }
  board.guardian_sleeps.store(false);
  const u64 now = monotonic_ns(), act = deadline + kGraceNs;
  return act <= now ? 0 : static_cast<int>((act - now) / kMs + 1);
}

void pass_signals_on(Guardian& guardian) {
  signalfd_siginfo info{};
  while (::read(guardian.signals.get(), &info, sizeof info) == sizeof info) {
    guardian.ending |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
    ::kill(guardian.daemon, static_cast<int>(info.ssi_signo));
  }
}

// Once: a daemon that hangs in the driver dies when the driver lets it, and not before.
void kill_if_overdue(Guardian& guardian) {
  const u64 deadline = guardian.board->deadline_ns.load();
  if (!guardian.killed && deadline != 0 && monotonic_ns() > deadline + kGraceNs) {
    log_error("the daemon has missed a deadline: it is killed, and replaced when it has ended");
    ::kill(guardian.daemon, SIGKILL);
    guardian.killed = true;
  }
}

// Until the daemon has gone; its wait status.
int watch(Guardian& guardian) {
  for (;;) {
    pollfd ready[] = {{guardian.daemon_pidfd.get(), POLLIN, 0},
                      {guardian.signals.get(), POLLIN, 0},
                      {guardian.board_changed.get(), POLLIN, 0}};
    ::poll(ready, 3, milliseconds_to_deadline(guardian));
    if (ready[0].revents != 0) {
      int status = 0;
      ::waitpid(guardian.daemon, &status, 0);
      return status;
    }
    if (ready[1].revents != 0) {
      pass_signals_on(guardian);
    }
    if (ready[2].revents != 0) {
      clear_event(guardian.board_changed.get());
    }
    kill_if_overdue(guardian);
  }
}

}  // namespace

Result<int> guard(const std::function<int(Ward)>& daemon) {
  Guardian guardian = TRY(prepare());
  ::prctl(PR_SET_NAME, "gpreempt-guard");
  for (int quick_deaths = 0; quick_deaths < kMostQuickDeaths;) {
    const u64 started = monotonic_ns();
    TRY(start_daemon(guardian, daemon));
    const int status = watch(guardian);
    if (WIFEXITED(status)) {
      return WEXITSTATUS(status);
    }
    if (guardian.ending) {
      return 128 + WTERMSIG(status);
    }
    log_error("the daemon was killed by signal {}: a new one is started", WTERMSIG(status));
    quick_deaths = monotonic_ns() - started < kQuickDeathNs ? quick_deaths + 1 : 0;
  }
  return Error{ECHILD, "the daemon dies again and again", "its last messages say why"};
}

}  // namespace gp::daemon
