// TEST: another process stopped and started 10,000 times by debugger gives bit-identical results
// LABELS: preempt mechanism
// PROFILES: mi210
// TIMEOUT: 300
// USES: gp_mechanism
#include "kfd_control.h"
#include "mechanism_workload.h"
#include "processes.h"

static int victim(int ready, int end) {
  kfd::Control control;
  control.enable_runtime();
  job::SmallWorkload workload;
  const job::SmallResults undisturbed = workload.run();
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

int main(int argc, char** argv) {
  using namespace job;
  int ready[2], end[2];
  EXPECT(pipe(ready) == 0 && pipe2(end, O_NONBLOCK) == 0, "pipe");
  const pid_t pid = start_process([&] {
    close(end[1]);
    return victim(ready[1], end[0]);
  });
  close(end[0]);
  char c;
  EXPECT(read(ready[0], &c, 1) == 1, "the victim did not start");
  auto attached = attach(Id::debugger, {pid, 0});
  if (!attached && attached.error().code == EPERM) {
    std::printf("skipped: %s\n", attached.error().message().c_str());
    kill(pid, SIGKILL);
    return 77;
  }
  const auto attachment = expect(std::move(attached), "attach");
  stop_and_start(*attachment, cycles_wanted(argc, argv, 10'000));
  expect(attachment->detach(), "detach");
  close(end[1]);
  EXPECT(wait_for(pid) == 0, "the victim failed");
  return pass("stopped by debugger");
}
