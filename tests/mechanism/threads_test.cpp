// One Controller and many threads, whose leases meet at the same queues and end in every way.
#include <signal.h>

#include <array>
#include <cerrno>
#include <random>
#include <thread>

#include "mechanism_support.h"

namespace gp::mechanism {
namespace {

constexpr int kRounds = 40;

// Stops some or all queues of one of the targets, and ends the lease in one of the ways there are.
class Worker {
 public:
  Worker(Controller& controller, const std::vector<Target>& targets, unsigned seed)
      : controller_(controller), targets_(targets), random_(seed) {}

  void work() {
    for (int round = 0; round < kRounds; round++) {
      stop_and_end(targets_[pick(targets_.size())]);
    }
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  void stop_and_end(Target target) {
    const bool all = pick(4) == 0;
    target.queue_ids =
        all ? std::vector<u32>{} : std::vector{target.queue_ids[pick(target.queue_ids.size())]};
    switch (pick(4)) {
      case 0: stop(target, lease_for(1ms)); break;
      case 1: {
        Child owner({"/bin/sleep", "1000"});
        LeaseOptions options = lease_for(1h);
        options.owner = owner.pid();
        stop(target, options);
        break;  // the owner is killed
      }
      case 2:
        if (const LeaseId lease = stop(target, lease_for(20ms)); lease != 0) {
          may_be_gone(controller_.extend(lease, Clock::now() + 1ms));
          may_be_gone(controller_.start(lease));
        }
        break;
      default:
        if (const LeaseId lease = stop(target, lease_for(1h)); lease != 0) {
          EXPECT_TRUE(succeeds(controller_.start(lease)));
        }
    }
  }

  // 0: another thread's lease holds the queue.
  LeaseId stop(const Target& target, const LeaseOptions& options) {
    const auto lease = controller_.stop({&target, 1}, options);
    if (!lease) {
      EXPECT_TRUE(is_error(lease, EBUSY));
      return 0;
    }
    return lease->lease;
  }
  static void may_be_gone(const Status& status) {
    if (!status) {
      EXPECT_TRUE(is_error(status, ENOENT));
    }
  }

  Controller& controller_;
  const std::vector<Target>& targets_;
  std::minstd_rand random_;
};

TEST(Threads, ShareAController) {
  std::array<Victim, 2> victims = {Victim({"--queues", "2"}), Victim({"--queues", "2"})};
  auto controller = make_controller();
  std::vector<Target> targets;
  for (const Victim& victim : victims) {
    const auto queues = controller->queues(victim.key());
    ASSERT_TRUE(succeeds(queues));
    Target& target = targets.emplace_back(Target{victim.key(), {}});
    for (const KnownQueue& queue : *queues) {
      target.queue_ids.push_back(queue.queue_id);
    }
  }
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; seed++) {
    threads.emplace_back([&, seed] { Worker(*controller, targets, seed).work(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  controller.reset();
  for (Victim& victim : victims) {
    EXPECT_FALSE(any_stopped(victim.pid()));
    EXPECT_TRUE(victim.makes_progress());
  }
}

}  // namespace
}  // namespace gp::mechanism
