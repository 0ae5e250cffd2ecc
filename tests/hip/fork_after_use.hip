// TEST: a fork after use, whose child execs, leaves the parent and its device alone
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void add(u32* out, u32 value) { out[global_thread()] += value; }

int main() {
  DeviceArray<u32> out(64);
  out.zero();
  add<<<1, 64>>>(out, 1);
  finish();
  // As on a real driver the child must not use HIP; it may exec or exit without harm to the parent.
  const pid_t child = fork();
  EXPECT(child >= 0, "fork");
  if (child == 0) {
    execlp("true", "true", nullptr);
    _exit(127);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
  add<<<1, 64>>>(out, 10);
  finish();
  expect_equal(out.read(), std::vector<u32>(64, 11), "out");
  return pass("fork after use");
}
