// TEST: when the tracer that suspended a process is killed, the process runs again
// LABELS: preempt
// TIMEOUT: 120
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "kfd_control.h"
#include "preempt_counter.h"
#include "processes.h"

static int victim(int ready) {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  kfd::Control control;
  control.enable_runtime();
  Counter counter;
  counter.launch();
  counter.wait_for_progress();
  EXPECT(write(ready, "r", 1) == 1, "write");
  // Suspended for 50 ms at some time; then, with its tracer gone, on the move again.
  for (;;) {
    const u32 before = counter.value();
    usleep(50'000);
    if (counter.value() == before)
      break;
  }
  EXPECT(write(ready, "s", 1) == 1, "write");
  counter.wait_for_progress();
  return 0;
}

static int tracer(pid_t pid, int done) {
  EXPECT(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0, "seize");
  kfd::Control control;
  control.enable_debugging(pid);
  control.suspend(pid, kfd::ids_of(control.queues(pid)));
  EXPECT(write(done, "x", 1) == 1, "write");
  for (;;) pause();
}

int main() {
  int ready[2], done[2];
  EXPECT(pipe(ready) == 0 && pipe(done) == 0, "pipe");
  const pid_t pid = start_process([&] { return victim(ready[1]); });
  char c;
  EXPECT(read(ready[0], &c, 1) == 1 && c == 'r', "the victim did not start");
  const pid_t debugger = start_process([&] { return tracer(pid, done[1]); });
  EXPECT(read(done[0], &c, 1) == 1, "the tracer did not suspend");
  EXPECT(read(ready[0], &c, 1) == 1 && c == 's', "the victim was not suspended");
  kill(debugger, SIGKILL);
  EXPECT(wait_for(debugger) == 128 + SIGKILL, "the tracer ended otherwise");
  EXPECT(wait_for(pid) == 0, "the victim did not go on");
  return pass("the end of a preempter resumes its target");
}
