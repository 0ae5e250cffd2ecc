// TEST: a memory handle opened in another process shows the same memory
// RUN: --kfd dkms
// SANITIZE:
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void multiply(u32* data, u32 factor) { data[global_thread()] *= factor; }

// The child opens the handle it is sent, works on the memory and says so.
static int child(int from_parent, int to_parent) {
  hipIpcMemHandle_t handle;
  EXPECT(read(from_parent, &handle, sizeof(handle)) == sizeof(handle), "no handle came");
  void* memory;
  HIP(hipIpcOpenMemHandle(&memory, handle, hipIpcMemLazyEnablePeerAccess));
  multiply<<<4, 64>>>(static_cast<u32*>(memory), 3);
  finish();
  HIP(hipIpcCloseMemHandle(memory));
  return write(to_parent, "x", 1) == 1 ? 0 : 1;
}

int main() {
  int down[2], up[2];
  EXPECT(pipe(down) == 0 && pipe(up) == 0, "pipe");
  const pid_t pid = fork();
  EXPECT(pid >= 0, "fork");
  if (pid == 0)
    return child(down[0], up[1]);

  const auto start = random_integers<u32>(256);
  DeviceArray<u32> data(start);
  hipIpcMemHandle_t handle;
  HIP(hipIpcGetMemHandle(&handle, data.get()));
  EXPECT(write(down[1], &handle, sizeof(handle)) == sizeof(handle), "write");
  close(up[1]);
  char done;
  EXPECT(read(up[0], &done, 1) == 1, "the child failed");
  std::vector<u32> want = start;
  for (u32& value : want) value *= 3;
  expect_equal(data.read(), want, "shared memory");
  int status;
  EXPECT(waitpid(pid, &status, 0) == pid && status == 0, "the child ended with %d", status);
  return pass("IPC handles");
}
