// Starting, reloading, ending; what a service manager sees. No GPU is needed.
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

using Lifecycle = DaemonTest;

// A word of /proc/<pid>/stat, counted as proc(5) does.
unsigned long stat_field(pid_t pid, int field) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream rest(text.substr(text.rfind(')') + 2));
  std::string word;
  for (int i = 3; i <= field; ++i) {
    rest >> word;
  }
  return std::stoul(word);
}

unsigned long status_number(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) {
      return std::stoul(line.substr(name.size() + 1));
    }
  }
  return 0;
}

TEST_F(Lifecycle, EndsInGoodOrderAndLeavesNoSocket) {
  start_daemon();
  EXPECT_EQ(status()["schema_version"], 1);
  EXPECT_EQ(stop_daemon(), 0);
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

TEST_F(Lifecycle, RefusesASecondDaemonOnTheSameSocket) {
  start_daemon();
  Program second({GPREEMPT_BIN_DIR "/gpreemptd", "--config", config_file(), "--socket", socket()},
                 {}, directory() + "/second");
  EXPECT_EQ(second.wait(), 1);
  EXPECT_EQ(status()["policy"], "strict");
}

TEST_F(Lifecycle, RefusesAWrongConfiguration) {
  write_config("policy = \"fair\"\n");
  Program daemon({GPREEMPT_BIN_DIR "/gpreemptd", "--config", config_file(), "--socket", socket()},
                 {}, directory() + "/log");
  EXPECT_EQ(daemon.wait(), 2);
  EXPECT_NE(log().find("gpreemptd.toml:1:10: there is no policy 'fair'"), std::string::npos);
}

TEST_F(Lifecycle, ReloadsOnSighupAndKeepsTheOldConfigurationIfTheNewIsWrong) {
  start_daemon("policy = \"strict\"\n");
  write_config("policy = \"share\"\n");
  guardian().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return status()["policy"] == "share"; }));
  write_config("policy = 7\n");
  guardian().signal(SIGHUP);
  EXPECT_TRUE(eventually(
      [&] { return log().find("the configuration stays as it was") != std::string::npos; }));
  EXPECT_EQ(status()["policy"], "share");
  write_config("policy = \"slo\"\n");
  guardian().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return status()["policy"] == "slo"; }));
}

TEST_F(Lifecycle, StartsInSpiteOfADamagedJournal) {
  std::ofstream(socket() + ".journal") << std::string(1000, 'x');
  start_daemon();
  EXPECT_NE(log().find("are damaged"), std::string::npos);
}

TEST_F(Lifecycle, ReplacesADaemonThatWasKilled) {
  start_daemon();
  const pid_t before = daemon_pid();
  ::kill(before, SIGKILL);
  EXPECT_TRUE(eventually([&] { return daemon_pid() != before; }));
  EXPECT_FALSE(guardian().ended());
}

// It is bound before the one that was left there goes.
TEST_F(Lifecycle, ASocketIsThereAllTheTimeWhileADaemonIsReplaced) {
  start_daemon();
  const pid_t before = daemon_pid();
  ::kill(before, SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const auto client = wire::Client::connect(socket());
    EXPECT_TRUE(client || client.error().code == ECONNREFUSED) << client.error().message();
    return static_cast<bool>(client);
  }));
  EXPECT_NE(daemon_pid(), before);
}

TEST_F(Lifecycle, ASocketThatSomebodyRemovesIsThereAgain) {
  start_daemon();
  const pid_t before = daemon_pid();
  for (int i = 0; i < 3; ++i) {
    std::filesystem::remove(socket());
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(socket()); }));
  }
  EXPECT_EQ(daemon_pid(), before);
}

TEST_F(Lifecycle, ALockThatSomebodyRemovesIsTakenAgain) {
  start_daemon();
  std::filesystem::remove(socket() + ".lock");
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(socket() + ".lock"); }));
  Program second({GPREEMPT_BIN_DIR "/gpreemptd", "--config", config_file(), "--socket", socket()},
                 {}, directory() + "/second");
  EXPECT_EQ(second.wait(), 1);
  EXPECT_EQ(status()["policy"], "strict");
}

// Its daemon has begun while ours could not look.
TEST_F(Lifecycle, WhoseLockIsAnothersEndsAndLeavesThemTheirSocket) {
  start_daemon();
  const pid_t first = daemon_pid();
  ::kill(first, SIGSTOP);
  std::filesystem::remove(socket() + ".lock");
  Program second({GPREEMPT_BIN_DIR "/gpreemptd", "--config", config_file(), "--socket", socket()},
                 {}, directory() + "/second");
  ASSERT_TRUE(eventually([&] { return daemon_pid() != first; }));
  ::kill(first, SIGCONT);
  EXPECT_TRUE(eventually([&] { return guardian().ended(); }));
  EXPECT_NE(log().find("another gpreemptd"), std::string::npos) << log();
  EXPECT_NE(daemon_pid(), first);
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(), 0);
}

// flock(2) asks for no more than a descriptor: who can read the file can keep daemons from
// starting.
TEST_F(Lifecycle, NobodyElseCanTakeTheLock) {
  const std::string lock = socket() + ".lock";
  std::ofstream(lock) << "of a release before\n";
  std::filesystem::permissions(lock, std::filesystem::perms(0644));
  start_daemon();
  EXPECT_EQ(std::filesystem::status(lock).permissions(), std::filesystem::perms(0600));
}

TEST_F(Lifecycle, WhoMayConnectIsReloadedToo) {
  start_daemon();
  const auto mode = [&] { return std::filesystem::status(socket()).permissions(); };
  EXPECT_EQ(mode(), std::filesystem::perms(0666));
  write_config("socket_mode = \"0600\"\n");
  guardian().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return mode() == std::filesystem::perms(0600); }));
}

TEST_F(Lifecycle, GivesUpADaemonThatDiesAgainAndAgain) {
  start_daemon();
  EXPECT_TRUE(eventually([&] {
    auto client = wire::Client::connect(socket());
    if (const auto text = client ? client->text(wire::Kind::status) : client.error(); text) {
      ::kill(nlohmann::json::parse(*text)["daemon_pid"].get<pid_t>(), SIGKILL);
    }
    return guardian().ended();
  }));
}

TEST_F(Lifecycle, TellsTheServiceManager) {
  const UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = directory() + "/notify";
  std::memcpy(address.sun_path, path.c_str(), path.size());
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const auto next = [&] {
    char text[256];
    const ssize_t size = ::recv(manager.get(), text, sizeof text, 0);
    return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  };
  start_daemon("", {{"NOTIFY_SOCKET", path}, {"WATCHDOG_USEC", "20000"}});
  EXPECT_EQ(next(), "READY=1");
  EXPECT_EQ(next(), "WATCHDOG=1");
  EXPECT_EQ(next(), "WATCHDOG=1");
  stop_daemon();
  std::string last;
  while (last != "STOPPING=1") {
    last = next();
  }
}

// 0 % CPU and no wake-ups: context switches do not count up while nothing happens. Whatever wakes
// it now and then does so within two seconds; what is left of the start is over in a later look.
TEST_F(Lifecycle, SleepsWhenThereIsNothingToDo) {
  start_daemon();
  const pid_t daemon = daemon_pid();
  const auto wakes = [&] {
    return status_number(daemon, "voluntary_ctxt_switches") +
           status_number(guardian().pid(), "voluntary_ctxt_switches") + stat_field(daemon, 14);
  };
  EXPECT_TRUE(eventually([&] {
    const unsigned long before = wakes();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return wakes() == before;
  }));
  EXPECT_LT(status_number(daemon, "RssAnon"), 10'000U);  // kB
}

}  // namespace
}  // namespace gp::daemon
