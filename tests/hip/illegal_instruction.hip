// TEST: an instruction that does not exist stops the queue with an error, it is not skipped
// STATUS: 134
// OUTPUT: HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION
#include "check.h"

// SOPP with an opcode (0x7f) that no gfx9 has.
__global__ void illegal(u32* out) {
  asm volatile(".long 0xbfff0000");
  *out = 1;
}

int main() {
  DeviceArray<u32> out(1);
  illegal<<<1, 64>>>(out);
  finish();
  return 0;
}
