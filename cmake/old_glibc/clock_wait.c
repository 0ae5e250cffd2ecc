/* pthread_cond_clockwait(), which glibc has since 2.30: its own where there is one. Before, a wait
 * could only end by the time of day, which is what libstdc++ made of it then, too: the end moves
 * with the clock when somebody sets it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#pragma GCC visibility push(hidden)

typedef int ClockWait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);

static int wait_by_time_of_day(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                               const struct timespec* deadline) {
  enum { kSecond = 1000000000 };
  struct timespec now, today;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &today);
  long nanoseconds = today.tv_nsec + deadline->tv_nsec - now.tv_nsec;
  today.tv_sec += deadline->tv_sec - now.tv_sec;
  if (nanoseconds < 0) {
    nanoseconds += kSecond;
    today.tv_sec--;
  } else if (nanoseconds >= kSecond) {
    nanoseconds -= kSecond;
    today.tv_sec++;
  }
  today.tv_nsec = nanoseconds;
  return pthread_cond_timedwait(condition, mutex, &today);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* deadline) {
  static _Atomic(ClockWait*) chosen;
  ClockWait* wait = atomic_load(&chosen);
  if (wait == NULL) {
    wait = (ClockWait*)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
    if (wait == NULL) {
      wait = wait_by_time_of_day;
    }
    atomic_store(&chosen, wait);
  }
  return wait(condition, mutex, clock, deadline);
}

#pragma GCC visibility pop
