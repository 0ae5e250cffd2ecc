// TEST: a process may exit while its kernel still runs; the device serves the next
// TIMEOUT: 120
#include "processes.h"

__global__ void forever(volatile u32* stop) {
  while (*stop == 0) {
  }
}

static int leave() {
  u32* stop;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&stop), 4));
  *stop = 0;
  forever<<<64, 256>>>(stop);
  HIP(hipGetLastError());
  _exit(0);
}

int main() {
  for (int i = 0; i < 3; i++) {
    EXPECT(wait_for(start_process(leave)) == 0, "the leaving process failed");
  }
  EXPECT(wait_for(start_process([] { return steady_work(1, 3, 50); })) == 0,
         "the next process failed");
  return pass("exit while running");
}
