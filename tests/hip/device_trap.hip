// TEST: s_trap 2 stops the queue and ROCr aborts the process
// STATUS: 134
// OUTPUT: HSA_STATUS_ERROR_EXCEPTION
#include "check.h"

__global__ void trap(u32* out) {
  if (threadIdx.x == 3)
    __builtin_trap();
  out[threadIdx.x] = 1;
}

int main() {
  DeviceArray<u32> out(64);
  trap<<<1, 64>>>(out);
  finish();
  return 0;
}
