// TEST: a tracer that suspends another process's queues at random moments changes no result
// LABELS: preempt
// SANITIZE: 60
// TIMEOUT: 240
#include <sys/ptrace.h>

#include "kfd_control.h"
#include "preempt_workload.h"
#include "processes.h"

// The victim: works until it is told to end, every result checked against the first.
static int victim(int ready, int end) {
  kfd::Control control;
  control.enable_runtime();
  Workload workload;
  const Results undisturbed = workload.run();
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

// A seized process stops at every signal until its tracer passes it on.
static void pass_signals_on(pid_t pid) {
  int status;
  while (waitpid(pid, &status, WNOHANG) == pid) {
    EXPECT(WIFSTOPPED(status), "the victim ended with status %#x", status);
    const bool event_stop = status >> 16 != 0;
    ptrace(PTRACE_CONT, pid, nullptr, event_stop ? 0 : WSTOPSIG(status));
  }
}

int main(int argc, char** argv) {
  int ready[2], end[2];
  EXPECT(pipe(ready) == 0 && pipe2(end, O_NONBLOCK) == 0, "pipe");
  const pid_t pid = start_process([&] {
    close(end[1]);
    return victim(ready[1], end[0]);
  });
  close(end[0]);
  close(ready[1]);
  char c;
  EXPECT(read(ready[0], &c, 1) == 1, "the victim did not start");

  if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) {
    std::printf("skipped: ptrace is not allowed here\n");
    kill(pid, SIGKILL);
    return 77;
  }
  kfd::Control control;
  control.enable_debugging(pid);
  const auto ids = kfd::ids_of(control.queues(pid));
  Random random(5);
  const u32 cycles = cycles_wanted(argc, argv, 2000);
  for (u32 i = 0; i < cycles; i++) {
    wait_microseconds(random.below(1500));
    pass_signals_on(pid);
    EXPECT(control.suspend(pid, ids) == static_cast<int>(ids.size()), "suspend");
    wait_microseconds(random.below(3) == 0 ? random.below(500) : 0);
    EXPECT(control.resume(pid, ids) == static_cast<int>(ids.size()), "resume");
  }
  control.disable_debugging(pid);
  EXPECT(ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0, "interrupt");
  int status;
  EXPECT(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "the victim did not stop");
  EXPECT(ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0, "detach");
  close(end[1]);
  EXPECT(wait_for(pid) == 0, "the victim failed");
  return pass("preemption from outside");
}
