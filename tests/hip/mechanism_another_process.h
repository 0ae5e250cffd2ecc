// Another process stopped and started many times by one mechanism: its results stay those of an
// undisturbed run, bit for bit.
#pragma once

#include "kfd_control.h"
#include "mechanism_workload.h"
#include "processes.h"

namespace job {

inline int compute_until_told(int ready, int end) {
  kfd::Control control;
  control.enable_runtime();
  SmallWorkload workload;
  const SmallResults undisturbed = workload.run();
  EXPECT(write(ready, "x", 1) == 1, "write");
  u32 runs = 0;
  char c;
  while (read(end, &c, 1) < 0 && errno == EAGAIN) {
    EXPECT(workload.run() == undisturbed, "run %u differs", runs);
    runs++;
  }
  std::printf("%u runs\n", runs);
  return runs > 0 ? 0 : 1;
}

// The whole test, for main(): 77 where this user may not.
inline int stop_another_process(Mechanism mechanism, int argc, char** argv) {
  int ready[2], end[2];
  EXPECT(pipe(ready) == 0 && pipe2(end, O_NONBLOCK) == 0, "pipe");
  const pid_t pid = start_process([&] {
    close(end[1]);
    return compute_until_told(ready[1], end[0]);
  });
  close(end[0]);
  char c;
  EXPECT(read(ready[0], &c, 1) == 1, "the other process did not start");
  auto attached = attach(mechanism, {pid, 0});
  if (!attached && attached.error().code == EPERM) {
    std::printf("skipped: %s\n", attached.error().message().c_str());
    kill(pid, SIGKILL);
    return 77;
  }
  const auto attachment = expect(std::move(attached), "attach");
  stop_and_start(*attachment, cycles_wanted(argc, argv, 10'000));
  expect(attachment->detach(), "detach");
  close(end[1]);
  EXPECT(wait_for(pid) == 0, "the other process failed");
  return pass(info_of(mechanism).name);
}

}  // namespace job
