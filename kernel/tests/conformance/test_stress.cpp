// Many at once; some of them are killed in the middle of a call.
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "hammer.h"
#include "peer.h"
#include "preempt.h"

TEST(everything_runs_again_after_processes_that_fight_and_die) {
  Peer first, second;
  for (unsigned gpu : {0u, 1u, 0u}) {
    CHECK(first.create_queue(gpu, 5) >= 0);
    CHECK(second.create_queue(gpu, 9) >= 0);
  }
  CHECK(known_to_driver(first.pid()));
  std::vector<pid_t> targets = {first.pid(), second.pid()};
  for (unsigned round = 0; round < 4; round++) {
    pid_t finishes = start_hammer(round, 200, targets);
    pid_t dies = start_hammer(100 + round, 1000000, {first.pid(), second.pid(), finishes});
    for (int i = 0; i < 20; i++) {
      CHECK_EQ(evict(first.pid()), 0);
      usleep(2000);
      CHECK_EQ(restore(first.pid()), 0);
    }
    int status = -1;
    CHECK_EQ(waitpid(finishes, &status, 0), finishes);
    CHECK_EQ(status, 0);
    kill(dies, SIGKILL);
    CHECK_EQ(waitpid(dies, &status, 0), dies);
    // The call in which it died may still be under way, and create a queue: the driver lets go of a
    // process after its last call.
    for (pid_t dead : {finishes, dies})
      wait_until([&] { return !known_to_driver(dead); }, "the driver keeps a dead process");
  }
  for (unsigned gpu : {0u, 1u}) {
    uint32_t queues = gpu == 0 ? 4 : 2;
    wait_until([&] { return status(gpu).args.total_queues == queues; }, "queues of the dead stay");
    wait_until([&] { return status(gpu).args.held_queues == 0; }, "a queue stays held");
    CHECK_EQ(status(gpu).args.active_queues, queues);
    CHECK_EQ(mapped_queues(gpu).size(), size_t{queues});
    CHECK_EQ(complaint(gpu), std::string());
  }
}

TEST(a_queue_that_nobody_stops_runs_whatever_happens_to_others) {
  Peer bystander, target;
  const int queue = bystander.create_queue(0, 7);
  CHECK(target.create_queue(0, 7) >= 0);
  Lease lease;
  // One stop and one start per look, so that every look comes to an end.
  std::atomic<int> looks = 0;
  const std::jthread others([&](std::stop_token end) {
    for (int done = 0; !end.stop_requested(); done++) {
      hold(self(), lease, entry(target.pid(), all_queues));
      usleep(1000);
      release(self(), lease, entry(target.pid(), all_queues));
      while (looks <= done && !end.stop_requested()) usleep(100);
    }
  });
  for (; looks < 300; looks++) CHECK(runs(bystander.pid(), queue));
}
