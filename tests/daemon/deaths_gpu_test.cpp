// Whoever is killed, at whatever moment of a preemption: nothing stays stopped, and the next
// request is served. The moments are reached by a driver whose unmaps take their time.
#include <optional>

#include "daemon/daemon_support.h"
#include "daemon/virtual_gpu.h"

namespace gp::daemon {
namespace {

enum class Who { daemon, server, training, gpu };
enum class When { idle, stopping, stopped, starting };
enum class How { agent, debugger };  // stops the training
using Death = std::tuple<Who, When, How>;

class GpuDeath : public DaemonTest, public testing::WithParamInterface<Death> {
 protected:
  static Who who() { return std::get<Who>(GetParam()); }
  static When when() { return std::get<When>(GetParam()); }
  static How how() { return std::get<How>(GetParam()); }

  void SetUp() override {
    DaemonTest::SetUp();
    gpu.emplace(who() == Who::gpu ? VirtualGpu::own() : VirtualGpu::given());
    use_environment(gpu->environment());
    // An agent whose driver is slow is waited for: it is not the fault that is meant here.
    start_daemon("lease = \"1s\"\nanswer = \"10s\"\n");
    start_training();
    server = online();
    ASSERT_EQ(server->ask("default"), "ok");
  }
  void TearDown() override {
    server.reset();
    training.reset();
    DaemonTest::TearDown();
    gpu.reset();
  }

  void start_training() {
    if (how() == How::debugger) {
      training = victim();  // counts from the beginning
      return;
    }
    training = offline();
    ASSERT_EQ(training->ask("launch"), "ok");
  }
  bool training_runs() {
    const std::string answer = training->ask("progress");
    return answer == "ok" || answer == "progress";
  }

  void bring_to(When phase) {
    ASSERT_TRUE(training_runs());
    ASSERT_TRUE(has_state(training->pid(), "running"));
    if (phase == When::stopping) {
      ASSERT_TRUE(gpu->inject("unmap-delay=600ms"));
    }
    if (phase != When::idle) {
      ASSERT_EQ(server->ask("launch"), "ok");
      ASSERT_TRUE(has_state(training->pid(), phase == When::stopping ? "stopping" : "stopped"));
    }
    if (phase == When::starting) {
      ASSERT_TRUE(gpu->inject("unmap-delay=600ms"));
      ASSERT_EQ(server->ask("finish"), "ok");
      ASSERT_TRUE(has_state(training->pid(), "starting"));
    }
  }

  void kill_it() {
    switch (who()) {
      case Who::daemon: ::kill(daemon_pid(), SIGKILL); break;
      case Who::server: server->signal(SIGKILL); break;
      case Who::training: training->signal(SIGKILL); break;
      case Who::gpu: gpu->kill(); break;
    }
  }

  // What has died is there again, and whoever has work to do does it; nobody is online.
  void replace_it() {
    if (who() == Who::gpu) {
      training.reset();
      server.reset();
      ASSERT_TRUE(gpu->restart());
    }
    ASSERT_TRUE(gpu->inject("clear"));
    if (who() == Who::server || who() == Who::gpu) {
      server = online();
    } else if (when() == When::stopping || when() == When::stopped) {
      ASSERT_TRUE(runs(*server));
      ASSERT_EQ(server->ask("finish"), "ok");
    }
    if (who() != Who::daemon && who() != Who::server) {
      start_training();
    }
  }

  void expect_a_request_to_be_served() {
    ASSERT_TRUE(has_state(training->pid(), "running"));
    ASSERT_EQ(server->ask("launch"), "ok");
    EXPECT_TRUE(has_state(training->pid(), "stopped"));
    EXPECT_TRUE(runs(*server));
    ASSERT_EQ(server->ask("finish"), "ok");
    EXPECT_TRUE(has_state(training->pid(), "running"));
    EXPECT_TRUE(training_runs());
  }

  std::optional<VirtualGpu> gpu;
  std::unique_ptr<Program> training, server;
};

TEST_P(GpuDeath, LeavesNothingStoppedAndTheNextRequestIsServed) {
  ASSERT_NO_FATAL_FAILURE(bring_to(when()));
  const pid_t daemon = daemon_pid();
  kill_it();
  ASSERT_NO_FATAL_FAILURE(replace_it());
  EXPECT_TRUE(eventually([&] { return !gpu->has_stopped_queues(); }));
  EXPECT_TRUE(training_runs());
  ASSERT_NO_FATAL_FAILURE(expect_a_request_to_be_served());
  EXPECT_EQ(daemon_pid() == daemon, who() != Who::daemon);
}

std::string name_of(const testing::TestParamInfo<Death>& info) {
  constexpr const char* kWho[] = {"OfTheDaemon", "OfTheServer", "OfTheTraining", "OfTheGpu"};
  constexpr const char* kWhen[] = {"WhileIdle", "WhileStopping", "WhileStopped", "WhileStarting"};
  const auto [who, when, how] = info.param;
  return std::string(kWho[static_cast<int>(who)]) + kWhen[static_cast<int>(when)];
}

INSTANTIATE_TEST_SUITE_P(
    Inside, GpuDeath,
    testing::Combine(testing::Values(Who::daemon, Who::server, Who::training, Who::gpu),
                     testing::Values(When::idle, When::stopping, When::stopped, When::starting),
                     testing::Values(How::agent)),
    name_of);
INSTANTIATE_TEST_SUITE_P(Outside, GpuDeath,
                         testing::Combine(testing::Values(Who::daemon, Who::training),
                                          testing::Values(When::stopping, When::stopped,
                                                          When::starting),
                                          testing::Values(How::debugger)),
                         name_of);

}  // namespace
}  // namespace gp::daemon
