// TEST: a failed assert in a kernel prints its place and aborts the process
// STATUS: 134
// OUTPUT: device_assert.hip:[0-9]+: .*assertion .threadIdx.x < 5' failed
#include <cassert>

#include "check.h"

__global__ void check_index() { assert(threadIdx.x < 5); }

int main() {
  check_index<<<1, 8>>>();
  finish();
  return 0;
}
