// TEST: stopping one queue at random moments disturbs neither it nor the queue beside it
// LABELS: preempt
// TIMEOUT: 240
#include "kfd_control.h"
#include "preempt_workload.h"

int main(int argc, char** argv) {
  kfd::Control control;
  control.enable_runtime();
  Workload workload;
  workload.run();
  control.enable_debugging(getpid());
  const auto queues = kfd::compute_queues(control.queues(getpid()));
  control.disable_debugging(getpid());
  EXPECT(queues.size() >= 2, "only %zu compute queues", queues.size());
  size_t next = 0;
  check_preempted_runs(
      workload, cycles_wanted(argc, argv, 1000), [&] { control.update(queues[next], 0); },
      [&] {
        control.update(queues[next], 100);
        next = (next + 1) % queues.size();
      });
  return pass("preemption of one queue");
}
