// Waiting for the GPU without a thread that spins.
//
// hipEventSynchronize() does spin here, whatever the flags say: the runtime's own thread waits for
// the same signal, and ROCr lets only the first of two waiters sleep (Signal::WaitAny, "known to be
// bad"). On the virtual GPU such a thread takes the CPU away that the GPU is emulated on; on any
// machine it is not what we want to measure.
#pragma once

#include <hip/hip_runtime.h>
#include <time.h>

#include "hip_call.h"

// Naps grow up to `longest_ns`, which is what the end may be noticed too late: a query costs about
// as much as the shortest nap, so short ones are for those who wait for an answer.
inline void wait_for(hipEvent_t event, long longest_ns) {
  timespec nap = {0, 50'000};
  hipError_t state;
  while ((state = hipEventQuery(event)) == hipErrorNotReady) {
    nanosleep(&nap, nullptr);
    nap.tv_nsec = nap.tv_nsec * 2 < longest_ns ? nap.tv_nsec * 2 : longest_ns;
  }
  HIP(state);
}
