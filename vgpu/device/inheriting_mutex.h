// A mutex whose owner runs at the priority of whoever waits for it.
//
// Threads here change between real-time and ordinary (urgency.h). One that becomes ordinary may
// lose its CPU at once, and on a busy machine does not get it back for tens of milliseconds, for
// seconds where there is more to run. If it has a lock at that moment, everybody stands still for
// as long, however urgent.
#pragma once

#include <pthread.h>

#include <mutex>

namespace vgpu::device {

// A std::mutex to its users. Only for locks that are seldom waited for: to wait is a system call,
// and who unlocks hands over to who waits, so that threads which take a busy lock again and again
// would all wait for each other's turn (four times as long for 10,000 stops, as the device lock).
class InheritingMutex : public std::mutex {
 public:
  InheritingMutex() {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    // Where the kernel has no such locks this fails, and it is an ordinary one: only slower.
    ::pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    ::pthread_mutex_destroy(native_handle());
    ::pthread_mutex_init(native_handle(), &attributes);
    ::pthread_mutexattr_destroy(&attributes);
  }
  ~InheritingMutex() { ::pthread_mutex_destroy(native_handle()); }
};

}  // namespace vgpu::device
