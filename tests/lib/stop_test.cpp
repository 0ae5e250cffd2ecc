// Stops and leases through the C API, on running HIP programs.
#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <thread>

#include "lib_support.h"

namespace gp::lib {
namespace {

using mechanism::all_run_again;
using mechanism::queue_states;

class Stop : public LibTest {};

TEST_F(Stop, AProcessStandsStillUntilTheLeaseIsFreed) {
  Victim victim;
  const auto options = stop_for(1min);
  gpreempt_lease* lease = nullptr;
  ASSERT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &options, &lease), 0)
      << gpreempt_error_text();
  EXPECT_TRUE(victim.stands_still());
  EXPECT_EQ(gpreempt_lease_state(lease), GPREEMPT_LEASE_HELD);
  EXPECT_EQ(gpreempt_lease_queue_count(lease), std::ssize(queue_states(victim.pid())));
  auto queue = sized<gpreempt_lease_queue_info>();
  ASSERT_EQ(gpreempt_lease_queue(lease, 0, &queue), 0);
  EXPECT_EQ(queue.pid, victim.pid());
  EXPECT_EQ(queue.start_time, victim.key().start_time);
  EXPECT_EQ(queue.outcome, unsigned{GPREEMPT_OUTCOME_STOPPED});
  EXPECT_STREQ(queue.mechanism, "debugger");
  auto times = sized<gpreempt_stop_times>();
  ASSERT_EQ(gpreempt_lease_times(lease, &times), 0);
  EXPECT_GT(times.driver_ns, 0u);
  gpreempt_lease_free(lease);
  EXPECT_TRUE(victim.makes_progress());
}

TEST_F(Stop, OnlyTheNamedQueuesStop) {
  Victim victim({"--queues", "2"});
  const u32 chosen = queue_states(victim.pid()).rbegin()->first;
  const gpreempt_queue_name name = {victim.pid(), chosen, victim.key().start_time};
  const auto options = stop_for(1min);
  gpreempt_lease* lease = nullptr;
  ASSERT_EQ(gpreempt_stop_queues(context_, &name, 1, &options, &lease), 0) << gpreempt_error_text();
  for (const auto& [id, state] : queue_states(victim.pid())) {
    EXPECT_EQ(state == "suspended", id == chosen) << id << " " << state;
  }
  EXPECT_TRUE(victim.makes_progress());
  gpreempt_lease_free(lease);
  EXPECT_TRUE(all_run_again(victim.pid()));
}

TEST_F(Stop, AClassStopsAndTheOthersRun) {
  std::unique_ptr<Victim> offline;
  {
    const Variable priority("AMD_QUEUE_PRIORITY", "2");
    offline = std::make_unique<Victim>();
  }
  Victim normal;
  const auto options = stop_for(1min);
  gpreempt_lease* lease = nullptr;
  ASSERT_EQ(gpreempt_stop_class(context_, GPREEMPT_CLASS_OFFLINE, &options, &lease), 0)
      << gpreempt_error_text();
  EXPECT_TRUE(offline->stands_still());
  EXPECT_TRUE(normal.makes_progress());
  gpreempt_lease_free(lease);
  EXPECT_TRUE(offline->makes_progress());
  EXPECT_EQ(gpreempt_stop_class(context_, GPREEMPT_CLASS_ONLINE, &options, &lease), -ENOENT);
  EXPECT_EQ(gpreempt_stop_class(context_, 17, &options, &lease), -EINVAL);
}

TEST_F(Stop, AtItsDeadlineALeaseEndsByItself) {
  Victim victim;
  const auto options = stop_for(50ms);
  gpreempt_lease* lease = nullptr;
  ASSERT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &options, &lease), 0)
      << gpreempt_error_text();
  pollfd ended = {gpreempt_lease_fd(context_), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 30'000), 1);
  EXPECT_EQ(gpreempt_lease_state(lease), GPREEMPT_LEASE_DEADLINE);
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_EQ(gpreempt_lease_extend(lease, 1000), -ESTALE);
  EXPECT_EQ(gpreempt_lease_end(lease), 0);
  EXPECT_EQ(gpreempt_lease_end(lease), 0);
  gpreempt_lease_free(lease);
}

TEST_F(Stop, AnExtendedLeaseOutlivesItsFirstDeadline) {
  Victim victim;
  const auto options = stop_for(10s);
  gpreempt_lease* lease = nullptr;
  ASSERT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &options, &lease), 0);
  EXPECT_EQ(gpreempt_lease_extend(lease, 0), -EINVAL);
  EXPECT_EQ(gpreempt_lease_extend(lease, GPREEMPT_LONGEST_LEASE_NS + 1), -EINVAL);
  ASSERT_EQ(gpreempt_lease_extend(lease, 50'000'000), 0);  // sooner, in fact
  pollfd ended = {gpreempt_lease_fd(context_), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 30'000), 1);
  EXPECT_EQ(gpreempt_lease_state(lease), GPREEMPT_LEASE_DEADLINE);
  gpreempt_lease_free(lease);
}

TEST_F(Stop, ALeaseWhoseOwnerDiesEnds) {
  Victim victim;
  mechanism::Child owner({"/bin/sleep", "1000"});
  auto options = stop_for(1min);
  options.owner = owner.pid();
  gpreempt_lease* lease = nullptr;
  ASSERT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &options, &lease), 0);
  owner.signal(SIGKILL);
  pollfd ended = {gpreempt_lease_fd(context_), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 30'000), 1);
  EXPECT_EQ(gpreempt_lease_state(lease), GPREEMPT_LEASE_OWNER_DIED);
  EXPECT_TRUE(victim.makes_progress());
  gpreempt_lease_free(lease);
}

TEST_F(Stop, ClosingTheContextEndsItsLeases) {
  Victim victim;
  const auto options = stop_for(1min);
  gpreempt_lease* lease = nullptr;
  ASSERT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &options, &lease), 0);
  gpreempt_close(context_);
  context_ = nullptr;
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_EQ(gpreempt_lease_state(lease), GPREEMPT_LEASE_ENDED);
  EXPECT_EQ(gpreempt_lease_end(lease), 0);
  EXPECT_EQ(gpreempt_lease_extend(lease, 1000), -ESTALE);
  gpreempt_lease_free(lease);
}

TEST_F(Stop, ASecondLeaseOnAQueueIsRefused) {
  Victim victim;
  const auto options = stop_for(1min);
  gpreempt_lease *first = nullptr, *second = nullptr;
  ASSERT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &options, &first), 0);
  EXPECT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &options, &second), -EBUSY);
  EXPECT_EQ(second, nullptr);
  gpreempt_lease_free(first);
  EXPECT_TRUE(victim.makes_progress());
}

TEST_F(Stop, WrongArgumentsStopNothing) {
  Victim victim;
  gpreempt_lease* lease = nullptr;
  const auto good = stop_for(1s);
  const auto stop = [&](const gpreempt_stop_options& options) {
    return gpreempt_stop_process(context_, victim.pid(), 0, &options, &lease);
  };
  EXPECT_EQ(stop(stop_for(0s)), -EINVAL);
  EXPECT_EQ(stop(stop_for(25h)), -EINVAL);
  auto options = good;
  options.grace_1k_clocks = 256;
  EXPECT_EQ(stop(options), -EINVAL);
  EXPECT_NE(std::string(gpreempt_error_text()).find("256"), std::string::npos);
  EXPECT_STRNE(gpreempt_error_hint(), "");
  options = good;
  options.mechanism = "magic";
  EXPECT_EQ(stop(options), -EINVAL);
  EXPECT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, nullptr, &lease), -EINVAL);
  EXPECT_EQ(gpreempt_stop_process(nullptr, victim.pid(), 0, &good, &lease), -EINVAL);
  EXPECT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &good, nullptr), -EINVAL);
  EXPECT_EQ(gpreempt_stop_process(context_, victim.pid(), 1, &good, &lease), -ESRCH);
  EXPECT_EQ(gpreempt_stop_process(context_, 0, 0, &good, &lease), -ESRCH);
  EXPECT_EQ(gpreempt_stop_process(context_, INT32_MAX, 0, &good, &lease), -ESRCH);
  EXPECT_EQ(gpreempt_stop_queues(context_, nullptr, 0, &good, &lease), -EINVAL);
  const gpreempt_queue_name twice[] = {{victim.pid(), 0, 0}, {victim.pid(), 0, 0}};
  EXPECT_EQ(gpreempt_stop_queues(context_, twice, 2, &good, &lease), -EINVAL);
  const gpreempt_queue_name missing = {victim.pid(), 1000, 0};
  EXPECT_EQ(gpreempt_stop_queues(context_, &missing, 1, &good, &lease), -ENOENT);
  const gpreempt_queue_name reused = {victim.pid(), 0, 1};
  EXPECT_EQ(gpreempt_stop_queues(context_, &reused, 1, &good, &lease), -ESRCH);
  std::vector<gpreempt_queue_name> many;
  for (u32 id = 0; id < GPREEMPT_MOST_QUEUES + 1; ++id) {
    many.push_back({victim.pid(), id, 0});
  }
  EXPECT_EQ(gpreempt_stop_queues(context_, many.data(), many.size(), &good, &lease), -EINVAL);
  EXPECT_EQ(lease, nullptr);
  EXPECT_FALSE(mechanism::any_stopped(victim.pid()));
}

TEST_F(Stop, AProgramOfAnOldRuntimeSaysWhyItCannotBeStopped) {
  Victim victim({"--no-runtime"});
  const auto options = stop_for(1s);
  gpreempt_lease* lease = nullptr;
  EXPECT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &options, &lease), -EPERM);
  EXPECT_NE(std::string(gpreempt_error_hint()).find("RUNTIME_ENABLE"), std::string::npos);
  auto probe = sized<gpreempt_probe_result>();
  ASSERT_EQ(gpreempt_probe(context_, "debugger", victim.pid(), 0, &probe), 0);
  EXPECT_EQ(probe.usable, 0u);
  EXPECT_STRNE(probe.reason, "");
  EXPECT_TRUE(victim.makes_progress());
}

TEST_F(Stop, AForkedChildIsRefusedAndDoesNoHarm) {
  Victim victim;
  const auto options = stop_for(1min);
  gpreempt_lease* lease = nullptr;
  ASSERT_EQ(gpreempt_stop_process(context_, victim.pid(), 0, &options, &lease), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = gpreempt_lease_end(lease) == -ECHILD &&
                         gpreempt_lease_state(lease) == -ECHILD &&
                         gpreempt_prepare(context_, victim.pid(), 0, nullptr) == -ECHILD;
    gpreempt_lease_free(lease);
    gpreempt_close(context_);
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(victim.stands_still());
  gpreempt_lease_free(lease);
  EXPECT_TRUE(victim.makes_progress());
}

// Four threads, one process: whoever gets the lease holds it, the others are told so.
TEST_F(Stop, ThreadsThatCompeteNeverLoseAQueue) {
  Victim victim({"--queues", "2"});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        const auto options = stop_for(round % 3 == 0 ? 1ms : 1min);
        gpreempt_lease* lease = nullptr;
        const int result = gpreempt_stop_process(context_, victim.pid(), 0, &options, &lease);
        const bool busy = result == -EBUSY && gpreempt_error_text()[0] != '\0';
        wrong += result != 0 && !busy ? 1 : 0;
        if (result == 0 && i % 2 == 0) {
          wrong += gpreempt_lease_end(lease) != 0 ? 1 : 0;
          wrong += gpreempt_lease_state(lease) == GPREEMPT_LEASE_FAILED ? 1 : 0;
        }
        gpreempt_lease_free(lease);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(all_run_again(victim.pid()));
  EXPECT_TRUE(victim.makes_progress());
}

}  // namespace
}  // namespace gp::lib
