// TEST: a program that forks before it uses HIP has a working device in parent and children
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void fill(u32* out, u32 value) { out[global_thread()] = value + threadIdx.x; }

static int use_device(u32 value) {
  DeviceArray<u32> out(256);
  fill<<<4, 64>>>(out, value);
  finish();
  const auto got = out.read();
  for (u32 i = 0; i < 256; i++) EXPECT(got[i] == value + i % 64, "out[%u] is %u", i, got[i]);
  return 0;
}

int main() {
  std::vector<pid_t> children;
  for (u32 i = 0; i < 3; i++) {
    const pid_t child = fork();
    EXPECT(child >= 0, "fork");
    if (child == 0)
      return use_device(1000 * (i + 1));
    children.push_back(child);
  }
  use_device(7);
  for (pid_t child : children) {
    int status;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "a child failed");
  }
  return pass("fork before use");
}
