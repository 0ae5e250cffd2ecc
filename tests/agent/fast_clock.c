/* Preloaded into a program: time passes a hundred times as fast for it, by the clock of deadlines
 * and where it waits in poll(). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const long kTimes = 100, kSecond = 1000000000;

static long nanoseconds(const struct timespec* time) {
  return time->tv_sec * kSecond + time->tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  static struct timespec first;
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result != 0 || clock != CLOCK_MONOTONIC) {
    return result;
  }
  if (first.tv_sec == 0) {
    first = *now; /* whoever else comes at the same time writes much the same */
  }
  const long passed = (nanoseconds(now) - nanoseconds(&first)) * kTimes;
  const long faster = nanoseconds(&first) + passed;
  now->tv_sec = faster / kSecond;
  now->tv_nsec = faster % kSecond;
  return 0;
}

int poll(struct pollfd* fds, nfds_t count, int patience) {
  return (int)syscall(SYS_poll, fds, count, patience > 0 ? patience / kTimes + 1 : patience);
}
