// Processes with queues of several classes, as their agents and clients see the daemon.
#include <fmt/format.h>
#include <unistd.h>

#include <future>

#include "base/socket.h"
#include "daemon/fake_agent.h"
#include "daemon/other_users.h"

namespace gp::daemon {
namespace {

using wire::Kind;

// The jobs that have a process with this pid: one for each part.
std::vector<nlohmann::json> jobs_of(const nlohmann::json& status, pid_t pid) {
  std::vector<nlohmann::json> jobs;
  for (const auto& job : status["jobs"]) {
    for (const auto& process : job["processes"]) {
      if (process["pid"] == pid) {
        jobs.push_back(job);
      }
    }
  }
  return jobs;
}

class PartsOfProcesses : public DaemonTest {
 protected:
  // This process has an agent with a queue.
  std::unique_ptr<FakeAgent> agent(Part part) {
    auto agent = std::make_unique<FakeAgent>(socket(), part);
    EXPECT_TRUE(agent->is_welcome());
    agent->make_queue(0x1000 * (1 + index_of(part)));
    return agent;
  }
  bool has_jobs(std::size_t count) {
    return eventually([&] { return jobs_of(status(), ::getpid()).size() == count; });
  }
  // What a client gets, later.
  template <class Message>
  std::future<int> asks(Message message) const {
    return std::async(std::launch::async, [path = socket(), message] {
      auto client = wire::Client::connect(path);
      return client ? code_of(client->ask(message)) : ECONNREFUSED;
    });
  }
  static int code_of(const Status& status) { return status ? 0 : status.error().code; }
  static wire::Suspend suspend() {
    wire::Suspend message;
    message.pid = static_cast<u32>(::getpid());
    message.duration_ns = 60'000'000'000;
    return message;
  }
  static wire::Resume resume() {
    wire::Resume message;
    message.pid = static_cast<u32>(::getpid());
    return message;
  }
  // What an administrator says of everybody here.
  static std::string rule(const std::string& work_class) {
    return fmt::format("[[classes.rule]]\nuid = {}\nclass = \"{}\"\nenforce = true\n", ::getuid(),
                       work_class);
  }
  void reload(const std::string& config) {
    write_config(config);
    guardian().signal(SIGHUP);
  }
  std::size_t times_logged(const std::string& words) const {
    const std::string text = log();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  }
};

TEST_F(PartsOfProcesses, AreTakenOnlyWhereTheAgentOfTheRestIsKnown) {
  start_daemon();
  FakeAgent first(socket(), Part::online);
  EXPECT_FALSE(first.is_welcome());
  const auto rest = agent(Part::rest);
  const auto second = agent(Part::online);
  EXPECT_TRUE(has_jobs(2));
}

TEST_F(PartsOfProcesses, GoWithTheAgentOfTheRest) {
  start_daemon();
  const auto rest = agent(Part::rest);
  const auto online = agent(Part::online), offline = agent(Part::offline);
  ASSERT_TRUE(has_jobs(3));
  rest->leave();
  EXPECT_TRUE(online->is_cut_off());
  EXPECT_TRUE(offline->is_cut_off());
  EXPECT_TRUE(has_jobs(1));
}

TEST_F(PartsOfProcesses, AreDroppedWhenARuleSaysWhatTheProcessIs) {
  start_daemon();
  const auto rest = agent(Part::rest);
  const auto online = agent(Part::online), offline = agent(Part::offline);
  ASSERT_TRUE(has_jobs(3));
  reload(rule("offline"));
  EXPECT_TRUE(online->is_cut_off());
  EXPECT_TRUE(offline->is_cut_off());
  ASSERT_TRUE(has_jobs(1));
  EXPECT_EQ(job_of(::getpid())["class"], "offline");
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(FakeAgent(socket(), Part::online).is_welcome());
  }
  EXPECT_EQ(times_logged("its streams are all of one class"), 1U) << log();
}

TEST_F(PartsOfProcesses, AreInvitedAgainWhenTheRuleHasGone) {
  start_daemon(rule("normal"));  // which it is anyway: nothing else changes
  const auto rest = agent(Part::rest);
  EXPECT_FALSE(FakeAgent(socket(), Part::online).is_welcome());
  reload("");
  EXPECT_TRUE(rest->is_welcome()) << "nobody tells the agent to ask again";
  EXPECT_TRUE(FakeAgent(socket(), Part::online).is_welcome());
}

TEST_F(PartsOfProcesses, ThatAreStoppedAreForgottenWithTheirAgents) {
  start_daemon();
  const auto rest = agent(Part::rest);
  const auto online = agent(Part::online), offline = agent(Part::offline);
  online->set_busy(true);
  ASSERT_TRUE(offline->obeys(Kind::stop));
  reload(rule("offline"));
  EXPECT_TRUE(offline->is_cut_off());
  ASSERT_TRUE(has_jobs(1));
  EXPECT_TRUE(eventually([&] { return job_of(::getpid())["state"] == "running"; }));
}

TEST_F(PartsOfProcesses, AreHeldByAClientAlsoWhenTheyComeLater) {
  start_daemon();
  const auto rest = agent(Part::rest);
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client);
  auto held = std::async(std::launch::async, [&] { return code_of(client->ask(suspend())); });
  ASSERT_TRUE(rest->obeys(Kind::stop));
  ASSERT_EQ(held.get(), 0);
  const auto online = agent(Part::online);
  EXPECT_TRUE(online->obeys(Kind::stop));
  ASSERT_EQ(code_of(client->ask(resume())), 0);
  EXPECT_TRUE(rest->obeys(Kind::start));
  EXPECT_TRUE(online->obeys(Kind::start));
}

TEST_F(PartsOfProcesses, AllRunWhenOneOfThemCannotBeStopped) {
  start_daemon();
  const auto rest = agent(Part::rest), offline = agent(Part::offline);
  ASSERT_TRUE(has_jobs(2));
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client);
  auto held = std::async(std::launch::async, [&] { return code_of(client->ask(suspend())); });
  ASSERT_TRUE(rest->obeys(Kind::stop));
  ASSERT_TRUE(offline->obeys(Kind::stop, EPERM));  // by either mechanism
  ASSERT_TRUE(offline->obeys(Kind::stop, EPERM));
  EXPECT_EQ(held.get(), EOPNOTSUPP);
  EXPECT_TRUE(rest->obeys(Kind::start));
}

TEST_F(PartsOfProcesses, AreNotKeptForGpusThatAnAgentInvents) {
  start_daemon();
  const auto rest = agent(Part::rest);
  for (u32 i = 0; i < 500; ++i) {
    rest->make_queue(0x100'000 + i, 1000 + i);
  }
  auto held = asks(suspend());
  ASSERT_TRUE(rest->obeys(Kind::stop));
  EXPECT_TRUE(rest->obeys(Kind::start)) << "the client has gone";
  EXPECT_EQ(held.get(), 0);
  EXPECT_LE(status()["nodes"].size(), 64U);
}

// One process of the job is another one's.
class PartsOfJobs : public OtherUsersTest {};

TEST_F(PartsOfJobs, AreHeldAndReleasedWithTheJobWhoeverOfItIsNamed) {
  start_daemon();
  const Stranger other({.uid = 0});
  auto own_connection = connect_to(socket());
  ASSERT_TRUE(own_connection);
  FakeAgent named(std::move(*own_connection), Part::rest, "training");
  FakeAgent rest(other.connect(socket()), Part::rest, "training");
  ASSERT_TRUE(named.is_welcome() && rest.is_welcome());
  named.make_queue(0x1000);
  rest.make_queue(0x2000);
  ASSERT_TRUE(eventually([&] { return job_of(::getpid())["pids"].size() == 2; }));
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client);
  wire::Suspend suspend;
  suspend.duration_ns = 60'000'000'000;
  auto held = std::async(std::launch::async, [&] { return client->ask(suspend) ? 0 : EOPNOTSUPP; });
  ASSERT_TRUE(named.obeys(Kind::stop));
  ASSERT_TRUE(rest.obeys(Kind::stop));
  ASSERT_EQ(held.get(), 0);
  FakeAgent late(other.connect(socket()), Part::online);
  ASSERT_TRUE(late.is_welcome());
  late.make_queue(0x3000);
  ASSERT_TRUE(late.obeys(Kind::stop));
  ASSERT_TRUE(client->ask(wire::Resume{}));
  EXPECT_TRUE(named.obeys(Kind::start));
  EXPECT_TRUE(rest.obeys(Kind::start));
  EXPECT_TRUE(late.obeys(Kind::start)) << "it stays held until the client has gone";
}

}  // namespace
}  // namespace gp::daemon
