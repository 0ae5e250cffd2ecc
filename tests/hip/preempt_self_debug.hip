// TEST: DBG_TRAP suspend/resume of the own queues at random moments loses nothing
// LABELS: preempt
// TIMEOUT: 240
// SANITIZE: 60
#include "kfd_control.h"
#include "preempt_counter.h"
#include "preempt_workload.h"

int main(int argc, char** argv) {
  kfd::Control control;
  control.enable_runtime();
  Workload workload;
  workload.run();
  Counter counter;
  counter.launch();
  counter.wait_for_progress();  // by now HIP has made all queues
  const pid_t self = getpid();
  control.enable_debugging(self);
  const auto ids = kfd::ids_of(control.queues(self));
  const int count = static_cast<int>(ids.size());
  EXPECT(count >= 2, "only %d queues", count);

  const auto stop = [&] {
    const int suspended = control.suspend(self, ids);
    EXPECT(suspended == count, "%d of %d queues suspended", suspended, count);
  };
  const auto start = [&] {
    const int resumed = control.resume(self, ids);
    EXPECT(resumed == count, "%d of %d queues resumed", resumed, count);
  };
  check_standstill(counter, 10, stop, start);
  check_preempted_runs(workload, cycles_wanted(argc, argv, 2000), stop, start);
  control.disable_debugging(self);
  return pass("preemption by DBG_TRAP");
}
