// Eight GPUs that are reset together, as a machine of MI308X has them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "stuck_gpu.h"

namespace {

constexpr unsigned num_gpus = 8;

// A process with a queue on each of the first GPUs.
struct Job {
  explicit Job(unsigned on = num_gpus) {
    for (unsigned gpu = 0; gpu < on; gpu++) queues[gpu] = peer.create_queue(gpu, 5);
  }
  Peer peer;
  std::array<int, num_gpus> queues = {};
  kfd_preempt_entry all() const { return entry(peer.pid(), all_queues); }
  bool runs_on(unsigned gpu) const { return runs(peer.pid(), queues[gpu], gpu); }
};

double stop_ms(const Job& job, int lease) {
  const auto start = std::chrono::steady_clock::now();
  CHECK_EQ(hold(self(), lease, job.all()), 0);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  CHECK_EQ(release(self(), lease, job.all()), 0);
  return took.count();
}

}  // namespace

TEST(eight_gpus_are_stopped_at_the_same_time) {
  CHECK_EQ(gpus().size(), size_t{num_gpus});
  Job job;
  Lease lease;
  int result = -1;
  std::jthread caller;
  {
    SlowGpu all(-1);
    caller = std::jthread([&] { result = hold(self(), lease, job.all()); });
    wait_until([] { return parameter("gpus_at_unmap") == num_gpus; }, "one waits for another");
  }
  caller.join();
  CHECK_EQ(result, 0);
  for (unsigned gpu = 0; gpu < num_gpus; gpu++) CHECK(!job.runs_on(gpu));
}

TEST(eight_gpus_seven_keep_a_deadline_while_one_hangs) {
  Job job;
  Lease lease;
  CHECK_EQ(hold(self(), lease, job.all()), 0);
  StuckGpu stuck(3);
  CHECK_EQ(lease.renew(1), 0);
  for (unsigned gpu = 0; gpu < num_gpus; gpu++)
    if (gpu != 3)
      wait_until([&] { return job.runs_on(gpu); }, "the deadline is not kept");
  stuck.end();
  wait_until([&] { return job.runs_on(3); }, "the deadline is forgotten");
}

// No limit: these are the times of an emulation. Each GPU takes 20 ms to unmap.
TEST(eight_gpus_how_long_a_stop_takes) {
  Lease lease;
  set_parameter("unmap_delay_us", 20000);
  std::string line;
  for (const unsigned on : {1u, 2u, num_gpus}) {
    Job job(on);
    std::array<double, 5> times;
    for (double& ms : times) ms = stop_ms(job, lease);
    std::sort(times.begin(), times.end());
    char text[40];
    snprintf(text, sizeof text, " %u: %.1f ms", on, times[times.size() / 2]);
    line += text;
  }
  set_parameter("unmap_delay_us", 0);
  printf("measured: a stop on so many GPUs%s\n", line.c_str());
}

TEST(eight_gpus_zz_a_reset_is_one_of_all_and_holds_survive_it) {
  Job job;
  Peer other;
  const int queue = other.create_queue(2, 5);
  CHECK(other.create_queue(2, 5) >= 0);
  Lease lease;
  CHECK_EQ(hold(self(), lease, entry(job.peer.pid(), job.queues[5])), 0);
  FirmwareCount count;
  set_parameter("queue_preemption_timeout_ms", 300);
  set_parameter("hang", 1);
  CHECK_EQ(hold(self(), lease, entry(other.pid(), queue)), -EIO);
  set_parameter("hang", 0);
  set_parameter("queue_preemption_timeout_ms", 9000);
  for (unsigned gpu = 0; gpu < num_gpus; gpu++) {
    wait_until([&] { return count.since(gpu).reset != 0; }, "a GPU is not reset");
    CHECK_EQ(count.since(gpu).reset, 1u);
  }
  const unsigned held = KFD_QUEUE_STATUS_HELD | KFD_QUEUE_STATUS_EVICTED;
  CHECK_EQ(status(5).find(job.peer.pid(), job.queues[5])->flags, held);
  CHECK_EQ(status(2).find(other.pid(), queue)->flags, held | KFD_QUEUE_STATUS_RESET);
  Job later;
  CHECK_EQ(hold(self(), lease, later.all()), 0);
  for (unsigned gpu = 0; gpu < num_gpus; gpu++) CHECK(!later.runs_on(gpu));
  lease.close_now();
  for (unsigned gpu = 0; gpu < num_gpus; gpu++) CHECK(later.runs_on(gpu));
}
