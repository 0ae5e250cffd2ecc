// One user's connection acts on that user's processes alone.
#include <fmt/format.h>

#include "daemon/other_users.h"

namespace gp::daemon {
namespace {

class Users : public OtherUsersTest {
 protected:
  static wire::SetJob named(const char* job, u32 pid = 0) {
    wire::SetJob message;
    message.pid = pid;
    wire::set_text(message.job, job);
    return message;
  }
  static wire::Suspend suspended(pid_t pid) {
    wire::Suspend message;
    message.pid = static_cast<u32>(pid);
    message.duration_ns = 1'000'000'000;
    return message;
  }
};

TEST_F(Users, AProcessIsItsOwners) {
  start_daemon();
  const Stranger alice({.uid = kAlice}), bob({.uid = kBob});
  ASSERT_EQ(alice.ask(socket(), named("training")), 0);
  EXPECT_EQ(job_of(alice.pid())["uid"], kAlice);
  EXPECT_EQ(bob.ask(socket(), named("mine", static_cast<u32>(alice.pid()))), EPERM);
  EXPECT_EQ(bob.ask(socket(), suspended(alice.pid())), EPERM);
  EXPECT_EQ(job_of(alice.pid())["job"], "training");
}

// A connection outlives the process that made it; its pid may then be anybody's.
TEST_F(Users, AConnectionOfAnEndedProcessSpeaksForNobodyWhoHasItsPidNow) {
  start_daemon();
  auto gone = std::make_unique<Stranger>(Place{.uid = kBob});
  const pid_t pid = gone->pid();
  const UniqueFd first = gone->connect(socket()), second = gone->connect(socket());
  ASSERT_EQ(ask(second, named("before")), 0);  // known to the daemon, this one
  gone->kill();
  const Stranger alice({.uid = kAlice, .pid = pid});
  ASSERT_EQ(alice.pid(), pid) << "somebody else has taken the pid";

  for (const UniqueFd* connection : {&first, &second}) {
    EXPECT_EQ(ask(*connection, named("mine")), ESRCH);
    EXPECT_EQ(ask(*connection, wire::OnlineMark{}), ESRCH);
    EXPECT_EQ(ask(*connection, suspended(0)), ESRCH);
    EXPECT_EQ(ask(*connection, suspended(pid)), ESRCH);
  }
  EXPECT_EQ(job_of(pid)["state"], nullptr) << "the daemon has taken it for the one before";
  ASSERT_EQ(alice.ask(socket(), named("hers")), 0);
  EXPECT_EQ(job_of(pid)["uid"], kAlice);
  EXPECT_EQ(ask(first, named("mine")), ESRCH);
  EXPECT_EQ(job_of(pid)["job"], "hers");
}

TEST_F(Users, AgentsSpeakForWhoHasConnectedOnly) {
  start_daemon();
  auto gone = std::make_unique<Stranger>(Place{.uid = kBob});
  const pid_t pid = gone->pid();
  const UniqueFd connection = gone->connect(socket());
  gone->kill();
  const Stranger alice({.uid = kAlice, .pid = pid});
  ASSERT_EQ(alice.pid(), pid);
  wire::Refused refused;
  wire::set_text(refused.reason, "of no use");
  EXPECT_EQ(ask(connection, refused), ECONNRESET);
  EXPECT_EQ(job_of(pid)["state"], nullptr);
}

// As sudo and login do it.
TEST_F(Users, AProcessThatBecomesAnothersIsNoLongerTheirs) {
  start_daemon();
  const Stranger process({.uid = 0}), bob({.uid = kBob});
  const UniqueFd connection = process.connect(socket());
  ASSERT_EQ(ask(connection, named("root's")), 0);
  EXPECT_EQ(job_of(process.pid())["uid"], 0);
  process.become(kAlice);
  EXPECT_EQ(ask(connection, named("root's again")), EPERM);
  ASSERT_EQ(process.ask(socket(), named("alice's")), 0);
  EXPECT_EQ(job_of(process.pid())["uid"], kAlice);
  EXPECT_EQ(bob.ask(socket(), named("bob's", static_cast<u32>(process.pid()))), EPERM);
  EXPECT_EQ(job_of(process.pid())["job"], "alice's");
}

TEST_F(Users, RootOfAContainerIsNotRootOfTheHost) {
  start_daemon();
  const Stranger alice({.uid = kAlice}), host({.uid = 0});
  const Stranger contained({.uid = 0, .own_pid_namespace = true});
  ASSERT_EQ(alice.ask(socket(), named("alice's")), 0);
  ASSERT_EQ(host.ask(socket(), named("root's")), 0);
  ASSERT_EQ(contained.ask(socket(), named("inside")), 0) << "it is the master of itself";
  EXPECT_EQ(job_of(contained.pid())["job"], "inside");
  // It has no numbers for those outside.
  EXPECT_EQ(contained.ask(socket(), named("taken", static_cast<u32>(alice.pid()))), ESRCH);
  EXPECT_EQ(contained.ask(socket(), named("taken", static_cast<u32>(host.pid()))), ESRCH);
  EXPECT_EQ(host.ask(socket(), named("by root", static_cast<u32>(alice.pid()))), 0);
  EXPECT_EQ(job_of(alice.pid())["may_preempt_others"], false);
  EXPECT_EQ(job_of(host.pid())["may_preempt_others"], true);
  EXPECT_EQ(job_of(contained.pid())["may_preempt_others"], false);
}

// Its root can be any user there.
TEST_F(Users, NobodyInAContainerJoinsAJobOfTheHost) {
  start_daemon();
  for (const uid_t uid : {uid_t{0}, kAlice}) {
    const Stranger host({.uid = uid}), contained({.uid = uid, .own_pid_namespace = true});
    ASSERT_EQ(host.ask(socket(), named("server")), 0);
    ASSERT_EQ(contained.ask(socket(), named("server")), 0);
    EXPECT_NE(job_of(host.pid())["id"], job_of(contained.pid())["id"]);
    EXPECT_EQ(job_of(contained.pid())["may_preempt_others"], false);
  }
}

// Nor by a user namespace that it makes as one of them.
TEST_F(Users, AUserNamespaceWithinAContainerProvesNothing) {
  start_daemon();
  const Stranger host({.uid = kAlice}), own({.uid = kAlice});
  const Stranger contained({.uid = kAlice, .own_pid_namespace = true});
  own.become_subordinate(kAlice);
  contained.become_subordinate(kAlice);
  ASSERT_EQ(host.ask(socket(), named("server")), 0);
  ASSERT_EQ(own.ask(socket(), named("server")), 0);
  ASSERT_EQ(contained.ask(socket(), named("server")), 0);
  EXPECT_EQ(job_of(contained.pid())["uid"], kAlice);
  EXPECT_EQ(job_of(host.pid())["id"], job_of(own.pid())["id"]);
  EXPECT_NE(job_of(host.pid())["id"], job_of(contained.pid())["id"]);
}

TEST_F(Users, WhatLimitsAUserLimitsTheirSubordinateUsers) {
  start_daemon("[[access]]\nuid = 60001\nclasses = [\"offline\"]\n");
  const Stranger subordinate({.uid = kAlice});
  subordinate.become_subordinate(70'001);
  wire::SetJob online;
  online.work_class = wire::code_of(WorkClass::online);
  ASSERT_EQ(subordinate.ask(socket(), online), 0);
  EXPECT_EQ(job_of(subordinate.pid())["uid"], 70'001);
  EXPECT_EQ(job_of(subordinate.pid())["class"], "offline");
}

TEST_F(Users, AnEntryOfNobodyLimitsEverybodyElse) {
  start_daemon(
      "[[access]]\nuid = 60001\nclasses = [\"online\"]\n[[access]]\nclasses = [\"offline\"]\n");
  const Stranger alice({.uid = kAlice}), bob({.uid = kBob});
  wire::SetJob online;
  online.work_class = wire::code_of(WorkClass::online);
  ASSERT_EQ(alice.ask(socket(), online), 0);
  ASSERT_EQ(bob.ask(socket(), online), 0);
  EXPECT_EQ(job_of(alice.pid())["class"], "online");
  EXPECT_EQ(job_of(bob.pid())["class"], "offline");
}

TEST_F(Users, SubordinateUsersHaveTheirUsersConnectionsOnly) {
  start_daemon("connections_per_user = 4\n");
  const Stranger alice({.uid = kAlice}), subordinate({.uid = kAlice}), bob({.uid = kBob});
  subordinate.become_subordinate(70'001);
  std::vector<UniqueFd> connections;
  for (int i = 0; i < 4; ++i) {
    connections.push_back(alice.connect(socket()));
    ASSERT_EQ(ask(connections.back(), named("one")), 0);
  }
  EXPECT_EQ(subordinate.ask(socket(), named("more")), ECONNRESET);
  EXPECT_EQ(bob.ask(socket(), named("mine")), 0);
}

TEST_F(Users, ContainersTakeNoConnectionsFromEachOtherNorFromTheHost) {
  start_daemon("connections_per_user = 4\n");
  const Stranger host({.uid = 0}), one({.uid = 0, .own_pid_namespace = true});
  const Stranger other({.uid = 0, .own_pid_namespace = true});
  std::vector<UniqueFd> connections;
  for (int i = 0; i < 4; ++i) {
    connections.push_back(one.connect(socket()));
    ASSERT_EQ(ask(connections.back(), named("one")), 0);
  }
  EXPECT_EQ(one.ask(socket(), named("one")), ECONNRESET);
  EXPECT_EQ(other.ask(socket(), named("other")), 0);
  EXPECT_EQ(host.ask(socket(), named("host's")), 0);
}

// Whichever of its users comes.
TEST_F(Users, AContainerHasItsConnectionsOnly) {
  start_daemon("connections_per_user = 4\n");
  const Stranger alice({.uid = kAlice}), contained({.uid = 0, .own_pid_namespace = true});
  std::vector<UniqueFd> connections;
  for (int i = 0; i < 4; ++i) {
    connections.push_back(contained.connect(socket()));
    ASSERT_EQ(ask(connections.back(), named("one")), 0);
  }
  contained.become(kAlice);
  EXPECT_EQ(contained.ask(socket(), named("more")), ECONNRESET);
  EXPECT_EQ(alice.ask(socket(), named("hers")), 0);
}

// Nobody else's answers get long or slow by it.
TEST_F(Users, OfTheManyIdleProcessesOfOneTheOldestAreForgotten) {
  start_daemon();
  const Stranger bob({.uid = kBob});
  ASSERT_EQ(bob.ask(socket(), named("bob's")), 0);
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (int i = 0; i < 300; ++i) {
    crowd.push_back(std::make_unique<Stranger>(Place{.uid = kAlice}));
    ASSERT_EQ(crowd.back()->ask(socket(), named(fmt::format("{}", i).c_str())), 0);
  }
  EXPECT_EQ(job_of(crowd.front()->pid())["job"], nullptr);
  EXPECT_EQ(job_of(crowd.back()->pid())["job"], "299");
  EXPECT_EQ(job_of(bob.pid())["job"], "bob's");
  EXPECT_EQ(crowd.front()->ask(socket(), named("again")), 0);
  EXPECT_EQ(job_of(crowd.front()->pid())["job"], "again");
}

TEST_F(Users, AGrantIsForContainersToo) {
  start_daemon("[[grant]]\nuid = 0\npreempt_others = true\n");
  const Stranger contained({.uid = 0, .own_pid_namespace = true});
  ASSERT_EQ(contained.ask(socket(), named("inside")), 0);
  EXPECT_EQ(job_of(contained.pid())["may_preempt_others"], true);
}

// Pid 1 of a container is not that of the host, nor that of another container.
TEST_F(Users, APidIsOneOfTheSendersNamespace) {
  start_daemon();
  const Stranger one({.uid = kAlice, .own_pid_namespace = true});
  const Stranger other({.uid = kAlice, .own_pid_namespace = true});
  ASSERT_EQ(one.ask(socket(), named("one")), 0);
  ASSERT_EQ(other.ask(socket(), named("other", 1)), 0);
  EXPECT_EQ(job_of(one.pid())["job"], "one");
  EXPECT_EQ(job_of(other.pid())["job"], "other");
}

TEST_F(Users, AreOnlineOnlyIfTheyMay) {
  start_daemon(
      "[[access]]\nuid = 60002\nclasses = [\"offline\", \"normal\"]\n"
      "[[access]]\ngid = 60000\nclasses = [\"online\", \"offline\"]\n");
  const Stranger alice({.uid = kAlice}), bob({.uid = kBob});
  wire::SetJob online;
  online.work_class = wire::code_of(WorkClass::online);
  ASSERT_EQ(alice.ask(socket(), online), 0);
  ASSERT_EQ(bob.ask(socket(), online), 0);
  EXPECT_EQ(job_of(alice.pid())["class"], "online");
  EXPECT_EQ(job_of(bob.pid())["class"], "offline");
  ASSERT_EQ(bob.ask(socket(), wire::OnlineMark{}), 0);
  EXPECT_EQ(job_of(bob.pid())["class"], "offline");
  wire::SetJob normal;
  normal.work_class = wire::code_of(WorkClass::normal);
  ASSERT_EQ(bob.ask(socket(), normal), 0);
  EXPECT_EQ(job_of(bob.pid())["class"], "normal");
}

TEST_F(Users, CannotTalkTheirWayOutOfARuleThatIsEnforced) {
  start_daemon("[[classes.rule]]\nuid = 60002\nclass = \"offline\"\nenforce = true\n");
  const Stranger bob({.uid = kBob});
  wire::SetJob online;
  online.work_class = wire::code_of(WorkClass::online);
  online.priority = 15;
  ASSERT_EQ(bob.ask(socket(), online), 0);
  EXPECT_EQ(job_of(bob.pid())["class"], "offline");
  EXPECT_LE(job_of(bob.pid())["priority"], 5);
}

TEST_F(Users, ATagIsAsLongAsAMessageHasItAtMost) {
  start_daemon();
  const Stranger process({.uid = 0});
  const std::string tag = "offline-" + std::string(200, 'x');
  process.have_environment("AMD_QUEUE_TAG=" + tag + std::string(1, '\0'));
  ASSERT_EQ(process.ask(socket(), named("tagged")), 0);
  EXPECT_TRUE(eventually([&] { return job_of(process.pid())["class"] == "offline"; }));
  EXPECT_EQ(job_of(process.pid())["processes"][0]["tag"],
            tag.substr(0, sizeof wire::SetJob::tag - 1));
}

TEST_F(Users, AGrantToAGroupIsForAllItsMembers) {
  start_daemon("[[grant]]\ngid = 60000\ngovern_others = true\n");
  const Stranger alice({.uid = kAlice}), bob({.uid = kBob}), other({.uid = kBob, .group = 60'003});
  ASSERT_EQ(alice.ask(socket(), named("training")), 0);
  EXPECT_EQ(bob.ask(socket(), named("by grant", static_cast<u32>(alice.pid()))), 0);
  EXPECT_EQ(other.ask(socket(), named("without", static_cast<u32>(alice.pid()))), EPERM);
  EXPECT_EQ(job_of(alice.pid())["job"], "by grant");
}

}  // namespace
}  // namespace gp::daemon
