// TEST: kill -9 of a process at any moment frees the device for the others
// TIMEOUT: 180
// SANITIZE:
#include <signal.h>

#include "processes.h"

__global__ void forever(volatile u32* stop, u32* out) {
  __shared__ u32 shared[256];
  shared[threadIdx.x] = threadIdx.x;
  while (*stop == 0) {
    __syncthreads();
    shared[threadIdx.x] += shared[(threadIdx.x + 1) % 256];
  }
  out[global_thread()] = shared[threadIdx.x];
}

static int run_forever(int ready) {
  u32* stop;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&stop), 4));
  *stop = 0;
  DeviceArray<u32> out(64 * 256);
  forever<<<64, 256>>>(stop, out);
  HIP(hipGetLastError());
  if (write(ready, "x", 1) != 1)
    return 1;
  for (;;) pause();
}

int main() {
  const pid_t neighbour = start_process([] { return steady_work(3, 40, 50); });
  Random random(8);
  for (int i = 0; i < 6; i++) {
    int ready[2];
    EXPECT(pipe(ready) == 0, "pipe");
    const pid_t victim = start_process([&] { return run_forever(ready[1]); });
    // Half of them die while they still start, half with the kernel running.
    if (i % 2 == 0) {
      char c;
      EXPECT(read(ready[0], &c, 1) == 1, "the victim did not start");
    }
    usleep(random.below(100'000));
    EXPECT(kill(victim, SIGKILL) == 0, "kill");
    EXPECT(wait_for(victim) == 128 + SIGKILL, "the victim ended otherwise");
    close(ready[0]);
    close(ready[1]);
  }
  EXPECT(wait_for(neighbour) == 0, "the neighbour failed");
  EXPECT(wait_for(start_process([] { return steady_work(4, 3, 50); })) == 0, "the next failed");
  return pass("killed while running");
}
