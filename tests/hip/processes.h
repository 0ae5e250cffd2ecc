// Programs of several processes: HIP must not be used before fork(), so the parent starts them
// first.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "check.h"

inline pid_t start_process(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  EXPECT(pid >= 0, "fork");
  if (pid == 0) {
    const int status = body();
    std::fflush(nullptr);
    std::exit(status);
  }
  return pid;
}

// The status a shell would show: 128 + signal for a process that was killed.
inline int wait_for(pid_t pid) {
  int status = 0;
  EXPECT(waitpid(pid, &status, 0) == pid, "waitpid");
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// The work of an innocent process: many launches, each checked.
__global__ void advance(u32* data, u32 rounds) {
  u32 x = data[global_thread()];
  for (u32 i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
  data[global_thread()] = x;
}

inline int steady_work(u32 seed, u32 launches, u32 rounds) {
  constexpr u32 kThreads = 1024;
  std::vector<u32> data = random_integers<u32>(kThreads, seed);
  DeviceArray<u32> device(data);
  for (u32 k = 0; k < launches; k++) {
    advance<<<kThreads / 128, 128>>>(device, rounds);
    finish();
    for (u32& x : data) {
      for (u32 i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
    }
    expect_equal(device.read(), data, "steady work");
  }
  return 0;
}
