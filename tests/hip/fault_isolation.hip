// TEST: a process with a wild access, a trap or an illegal instruction dies; its neighbour works on
// TIMEOUT: 120
// SANITIZE:
#include "processes.h"

__global__ void wild_store(u32* address) { *address = 1; }
__global__ void wild_load(const u32* address, u32* out) { *out = *address; }
__global__ void trap() { __builtin_trap(); }
__global__ void illegal() { asm volatile(".long 0xbfff0000"); }

static int fault(int kind) {
  auto* nowhere = reinterpret_cast<u32*>(0x123456789000ull);
  DeviceArray<u32> out(1);
  switch (kind) {
    case 0: wild_store<<<4, 64>>>(nowhere); break;
    case 1: wild_load<<<4, 64>>>(nowhere, out); break;
    case 2: trap<<<1, 64>>>(); break;
    default: illegal<<<1, 64>>>(); break;
  }
  // Older ones abort; HIP 7.2 tells of a wild access and leaves the end to the program.
  return hipDeviceSynchronize() == hipSuccess ? 0 : 134;
}

int main() {
  const pid_t neighbour = start_process([] { return steady_work(1, 40, 50); });
  for (int kind = 0; kind < 4; kind++) {
    const int status = wait_for(start_process([kind] { return fault(kind); }));
    EXPECT(status == 134, "fault %d ended with status %d", kind, status);
  }
  EXPECT(wait_for(neighbour) == 0, "the neighbour failed");
  return pass("fault isolation");
}
