// TEST: a wild store aborts its process as ROCr does on hardware
// STATUS: 134
// OUTPUT: Memory access fault by GPU node-1.*(.|\n)*Page not present
#include "check.h"

__global__ void wild(u32* address) { *address = 1; }

int main() {
  wild<<<1, 64>>>(reinterpret_cast<u32*>(0x123456789000ull));
  finish();
  return 0;
}
