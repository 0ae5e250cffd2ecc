// TEST: UPDATE_QUEUE 0/100 at random moments loses nothing, and a stopped queue makes no progress
// LABELS: preempt
// TIMEOUT: 240
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
  control.enable_debugging(getpid());
  const auto queues = kfd::compute_queues(control.queues(getpid()));
  control.disable_debugging(getpid());
  EXPECT(queues.size() >= 2, "only %zu compute queues", queues.size());

  const auto stop = [&] {
    for (const auto& queue : queues) control.update(queue, 0);
  };
  const auto start = [&] {
    for (const auto& queue : queues) control.update(queue, 100);
  };
  check_standstill(counter, 10, stop, start);
  check_preempted_runs(workload, cycles_wanted(argc, argv, 1000), stop, start);
  return pass("preemption by UPDATE_QUEUE");
}
