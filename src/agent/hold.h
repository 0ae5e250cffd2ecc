// Holds a mutex for the length of a scope. The agent has no libstdc++ to take one from.
#pragma once

#include <pthread.h>

namespace gp::agent {

class Hold {
 public:
  explicit Hold(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Hold() { pthread_mutex_unlock(&mutex_); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace gp::agent
