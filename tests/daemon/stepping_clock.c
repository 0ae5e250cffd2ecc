/* Preloaded into programs: the wall clock jumps by a day with every reading, back and forth. Other
 * clocks are the system's. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const time_t kDay = 24 * 3600;

static void step(time_t* seconds) {
  static atomic_uint readings;
  *seconds += (atomic_fetch_add(&readings, 1) % 2 == 0 ? 1 : -1) * kDay;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    step(&now->tv_sec);
  }
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  if (now != NULL) {
    *now = time.tv_sec;
  }
  return time.tv_sec;
}
