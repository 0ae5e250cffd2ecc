#include "agent/thread.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

namespace gp::agent {

int start_thread(pthread_t* thread, void* (*main)(void*), void* argument) {
  // Thread-local storage of the program's libraries comes out of the stack too.
  constexpr size_t kStackBytes = 256 * 1024;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(thread, &attributes, main, argument);
  if (error == EINVAL) {  // a program with more thread-local storage than that
    error = pthread_create(thread, nullptr, main, argument);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error == 0) {
    pthread_setname_np(*thread, "gpreempt");
  }
  return -error;
}

}  // namespace gp::agent
