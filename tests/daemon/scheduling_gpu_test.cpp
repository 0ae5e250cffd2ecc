// The thread of an agent that stops queues is real-time as long as a daemon wants it so.
#include <dirent.h>
#include <sched.h>

#include <fstream>

#include "daemon/daemon_support.h"
#include "libc/real_time.h"

namespace gp::daemon {
namespace {

bool is_permitted() {
  if (!enter_real_time()) {
    return false;
  }
  leave_real_time();
  return true;
}

// Whether a thread of the agent is scheduled so.
bool has_agent_thread(pid_t pid, int policy) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  bool found = false;
  DIR* directory = ::opendir(tasks.c_str());
  while (const dirent* entry = directory != nullptr ? ::readdir(directory) : nullptr) {
    std::string name;
    std::getline(std::ifstream(tasks + "/" + entry->d_name + "/comm"), name);
    if (name == "gpreempt") {
      found = found ||
              (::sched_getscheduler(std::stoi(entry->d_name)) & ~SCHED_RESET_ON_FORK) == policy;
    }
  }
  if (directory != nullptr) {
    ::closedir(directory);
  }
  return found;
}

class GpuScheduling : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (!is_permitted()) {
      GTEST_SKIP() << "real-time scheduling is not permitted here";
    }
  }
  static bool becomes(const Program& program, int policy) {
    return eventually([&] {
      const int other = policy == SCHED_RR ? SCHED_OTHER : SCHED_RR;
      // All its threads: an agent has one for the daemon and one that looks after completion.
      return has_agent_thread(program.pid(), policy) &&
             (policy == SCHED_RR || !has_agent_thread(program.pid(), other));
    });
  }
};

TEST_F(GpuScheduling, TheAgentOfAnOfflineProgramIsRealTimeUntilTheDaemonGoes) {
  const auto training = offline();
  ASSERT_EQ(training->ask("default"), "ok");
  EXPECT_TRUE(becomes(*training, SCHED_OTHER));  // there is no daemon
  start_daemon();
  EXPECT_TRUE(becomes(*training, SCHED_RR));
  stop_daemon();
  EXPECT_TRUE(becomes(*training, SCHED_OTHER));
}

TEST_F(GpuScheduling, TheAgentOfAnOnlineProgramStaysOrdinary) {
  start_daemon();
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("default"), "ok");
  ASSERT_EQ(server->ask("default"), "ok");
  EXPECT_TRUE(becomes(*training, SCHED_RR));
  EXPECT_TRUE(becomes(*server, SCHED_OTHER));
}

TEST_F(GpuScheduling, NobodyIsRealTimeIfTheConfigurationSaysSo) {
  start_daemon();
  const auto training = offline();
  ASSERT_EQ(training->ask("default"), "ok");
  EXPECT_TRUE(becomes(*training, SCHED_RR));
  const pid_t daemon = daemon_pid();
  EXPECT_EQ(::sched_getscheduler(daemon) & ~SCHED_RESET_ON_FORK, SCHED_RR);
  EXPECT_EQ(status()["real_time"], true);
  write_config("real_time = false\n");
  guardian().signal(SIGHUP);
  EXPECT_TRUE(becomes(*training, SCHED_OTHER));
  EXPECT_TRUE(eventually(
      [&] { return (::sched_getscheduler(daemon) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER; }));
  EXPECT_EQ(status()["real_time"], false);
}

}  // namespace
}  // namespace gp::daemon
