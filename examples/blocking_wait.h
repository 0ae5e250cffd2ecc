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

inline void wait_for(hipEvent_t event) {
  constexpr timespec kNap = {0, 50'000};
  hipError_t state;
  while ((state = hipEventQuery(event)) == hipErrorNotReady) {
    nanosleep(&kNap, nullptr);
  }
  HIP(state);
}
