// TEST: CRIU pause and unpause at random moments loses nothing
// LABELS: preempt
// TIMEOUT: 240
// SANITIZE: 40
#include "kfd_control.h"
#include "preempt_counter.h"
#include "preempt_workload.h"

int main(int argc, char** argv) {
  kfd::Control control;
  Workload workload;
  workload.run();
  Counter counter;
  counter.launch();
  counter.wait_for_progress();  // by now HIP has made all queues
  const auto stop = [&] { control.criu(kfd::kCriuProcessInfo); };
  const auto start = [&] { control.criu(kfd::kCriuUnpause); };
  check_standstill(counter, 10, stop, start);
  check_preempted_runs(workload, cycles_wanted(argc, argv, 1000), stop, start);
  return pass("preemption by CRIU pause");
}
