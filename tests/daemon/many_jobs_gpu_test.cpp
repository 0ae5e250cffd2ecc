// A hundred jobs at once, a few of which are in the way of online work.
#include <algorithm>

#include "bench/idle_clients.h"
#include "daemon/virtual_gpu.h"

namespace gp::daemon {
namespace {

class ManyJobs : public DaemonTest {
 protected:
  static constexpr std::size_t kJobs = 100, kTrainings = 4;

  std::size_t jobs_in_state(const std::string& state) {
    const auto jobs = status()["jobs"];
    return static_cast<std::size_t>(std::count_if(
        jobs.begin(), jobs.end(), [&](const auto& job) { return job["state"] == state; }));
  }
};

TEST_F(ManyJobs, ThoseInTheWayAreStoppedAndAllOfThemComeBack) {
  start_daemon("connections_per_user = 1000\n");
  const auto idle = bench::IdleClients::start(kJobs - kTrainings - 1, socket());
  ASSERT_TRUE(idle) << idle.error().message();
  std::vector<std::unique_ptr<Program>> trainings;
  for (std::size_t i = 0; i < kTrainings; ++i) {
    trainings.push_back(offline());
    ASSERT_EQ(trainings.back()->ask("launch"), "ok");
  }
  const auto server = online();
  ASSERT_EQ(server->ask("default"), "ok");
  ASSERT_TRUE(eventually([&] { return jobs_in_state("running") == kJobs; }));

  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return jobs_in_state("stopped") == kTrainings; }));
  EXPECT_EQ(jobs_in_state("running"), kJobs - kTrainings);
  for (const auto& training : trainings) {
    EXPECT_EQ(job_of(training->pid())["state"], "stopped");
    EXPECT_TRUE(stands_still(*training));
  }

  ASSERT_EQ(server->ask("finish"), "ok");
  ASSERT_TRUE(eventually([&] { return jobs_in_state("running") == kJobs; }));
  EXPECT_FALSE(VirtualGpu::given().has_stopped_queues());
  for (const auto& training : trainings) {
    EXPECT_TRUE(runs(*training));
  }
}

}  // namespace
}  // namespace gp::daemon
