// TEST: a job stopped and started 10,000 times by early-ioctl gives bit-identical results
// LABELS: preempt mechanism
// PROFILES: mi210
// TIMEOUT: 300
// USES: gp_mechanism
// RUN: --early-ioctls on
#include "kfd_control.h"
#include "mechanism_workload.h"

int main(int argc, char** argv) {
  using namespace job;
  kfd::Control control;
  control.enable_runtime();
  SmallWorkload workload;
  const SmallResults undisturbed = workload.run();  // by now HIP has made all queues
  AttachOptions options;
  options.early_ioctl = true;
  const auto attachment = expect(attach(Mechanism::early_ioctl, {getpid(), 0}, options), "attach");
  const u32 cycles = cycles_wanted(argc, argv, 10'000);
  std::atomic<bool> done{false};
  std::thread stopper([&] {
    stop_and_start(*attachment, cycles);
    done = true;
  });
  u32 runs = 0;
  do {
    EXPECT(workload.run() == undisturbed, "run %u differs", runs);
    runs++;
  } while (!done);
  stopper.join();
  expect(attachment->detach(), "detach");
  std::printf("%u runs, %u stops\n", runs, cycles);
  return pass("stopped by early-ioctl");
}
