// What `gpreempt verify` makes of what it is told, without a GPU.
#include "verify/verify.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/exit_code.h"
#include "config/config.h"
#include "discover/classify.h"
#include "report/report.h"
#include "report/verdict.h"
#include "support/temporary_directory.h"
#include "verify/evidence.h"
#include "verify/judge.h"
#include "verify/online.h"
#include "verify/reply.h"
#include "verify/rivals.h"
#include "verify/steps.h"

namespace gp::verify {
namespace {

TEST(Reply, HasItsWordNamesAndNumbers) {
  const Reply reply = parse_reply("online requests=3 wrong_lanes=0 latencies_us 10 20 30.5");
  EXPECT_EQ(reply.word, "online");
  EXPECT_EQ(reply.number("requests"), 3);
  EXPECT_EQ(reply.list, (std::vector<double>{10, 20, 30.5}));
  EXPECT_EQ(reply.text("target"), "");
}

// Loss beyond online's own time: online had a tenth of the GPU and offline lost a tenth.
TEST(Loss, LeavesOutWhatOnlineHad) {
  const Alone alone{.request_ms = 100, .request_p99_ms = 100, .offline_kernels_per_s = 100};
  Beside both;
  both.latencies_ms = std::vector<double>(10, 150);
  both.offline_kernels_per_s = 90;
  both.offline_s = 10;
  const Loss loss = loss_of(alone, both);
  EXPECT_NEAR(*loss.plain, 10, 1e-9);
  EXPECT_NEAR(*loss.beyond_online, 0, 1e-9);
  EXPECT_FALSE(
      loss_of({.request_ms = {}, .request_p99_ms = {}, .offline_kernels_per_s = 100}, both).plain)
      << "unknown is not zero";
}

// The daemon of verify leaves alone who does not carry its mark, whatever they say of themselves.
TEST(DaemonSettings, KnowOurOwnProgramsAndNobodyElse) {
  const demo::Programs programs;
  const auto scratch = demo::ScratchDirectory::create();
  ASSERT_TRUE(scratch);
  demo::Progress progress;
  const demo::Waiter waiter(-1, progress);
  const Setting setting{.programs = programs,
                        .scratch = *scratch,
                        .waiter = waiter,
                        .progress = progress,
                        .extent = {},
                        .nodes = {},
                        .node = {},
                        .mark = "verify-1-abc"};
  const auto config =
      config::parse(daemon_settings(setting, "mechanisms = [\"debugger\"]\n"), "settings");
  ASSERT_TRUE(config) << config.error().message();
  const auto class_of = [&](const std::string& command, const char* environment) {
    discover::Process process;
    process.command = command;
    std::vector<std::string> warnings;
    discover::classify(process, config->classes, environment, "", warnings);
    return process.work_class;
  };
  EXPECT_EQ(class_of("gpreempt-load --mark verify-1-abc-offline", ""), WorkClass::offline);
  EXPECT_EQ(class_of("gpreempt-load --mark verify-1-abc-online", ""), WorkClass::online);
  EXPECT_EQ(class_of("python train.py", "GPREEMPT_CLASS=offline"), WorkClass::normal);
  EXPECT_EQ(class_of("gpreempt-load --mark verify-2-def-offline", "GPREEMPT_CLASS=offline"),
            WorkClass::normal)
      << "another verify's";
}

// No rule is enforced where streams have classes, so it must not be able to stop others at all.
TEST(DaemonSettings, ForStreamsReachNobodyFromOutside) {
  const demo::Programs programs;
  const auto scratch = demo::ScratchDirectory::create();
  ASSERT_TRUE(scratch);
  demo::Progress progress;
  const demo::Waiter waiter(-1, progress);
  Setting setting{.programs = programs,
                  .scratch = *scratch,
                  .waiter = waiter,
                  .progress = progress,
                  .extent = {},
                  .nodes = {},
                  .node = {},
                  .mark = "verify-1-abc"};
  EXPECT_EQ(mechanisms_for_streams(setting),
            (std::vector<std::string>{"self-debug", "update-queue"}));
  const auto config =
      config::parse(settings_for_streams(mechanisms_for_streams(setting)), "streams");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_FALSE(config->watch_all_processes);
  EXPECT_TRUE(config->classes.rules.empty());
  for (const MechanismInfo& info : kMechanisms) {
    EXPECT_EQ(config->settings.mechanisms.has(info.mechanism),
              info.mechanism == Mechanism::self_debug || info.mechanism == Mechanism::update_queue)
        << info.name;
  }
  EXPECT_EQ(exact_mechanisms(setting), "");
  setting.inexact = {"self-debug"};
  EXPECT_EQ(mechanisms_for_streams(setting), std::vector<std::string>{"update-queue"});
  const auto others =
      config::parse(daemon_settings(setting, exact_mechanisms(setting)), "settings");
  ASSERT_TRUE(others) << others.error().message();
  for (const MechanismInfo& info : kMechanisms) {
    EXPECT_EQ(others->settings.mechanisms.has(info.mechanism),
              info.by_default && info.mechanism != Mechanism::self_debug)
        << info.name;
  }
}

// Whoever is starved has answered the least, and waits the longest.
TEST(Rivals, WaitUntilTheEndForWhatWasNotAnswered) {
  EXPECT_EQ(with_unanswered({10, 12}, 15, 0.031), (std::vector<double>{10, 12, 1}));
  EXPECT_EQ(with_unanswered({}, 10, 0.03), (std::vector<double>{30, 20, 10}));
  EXPECT_EQ(with_unanswered({10, 20, 30}, 10, 0.02), (std::vector<double>{10, 20, 30}));
  Rivals rivals;
  rivals.high_ms = 5;
  EXPECT_FALSE(rivals.ratio()) << "unknown is not zero";
  rivals.low_ms = 15;
  EXPECT_EQ(rivals.ratio(), 3);
}

// On a full disk: a daemon with no settings would schedule everybody's programs.
TEST(Daemon, IsNotStartedWithoutItsSettings) {
  const auto scratch = demo::ScratchDirectory::create();
  ASSERT_TRUE(scratch);
  demo::Progress progress;
  const demo::Waiter waiter(-1, progress);
  demo::Programs programs;
  programs.gpreemptd = "/bin/false";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit nothing{0, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &nothing), 0);
  const auto daemon = demo::Scheduler::start(programs, *scratch, waiter, "policy = \"strict\"\n");
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().code, EFBIG) << daemon.error().message();
}

TEST(Verdicts, OfOtherMechanismsTimesAreNone) {
  std::vector<report::Criterion> criteria = {at_most("s", "slow", 1, "ms", 100),
                                             at_most("s", "wrong results", 0, "", 3)};
  show_times(criteria);
  EXPECT_EQ(report::verdict_of(criteria[0]), report::Verdict::shown);
  EXPECT_EQ(report::verdict_of(criteria[1]), report::Verdict::missed);
  mark_emulated(criteria);
  EXPECT_EQ(report::verdict_of(criteria[0]), report::Verdict::emulated);
}

TEST(Verdicts, OfAnEmulatorsTimesAreNone) {
  std::vector<report::Criterion> criteria = {at_most("s", "slow", 1, "ms", 100),
                                             at_most("s", "wrong results", 0, "", 3),
                                             at_most("s", "not measured", 1, "ms", std::nullopt)};
  mark_emulated(criteria);
  EXPECT_EQ(report::verdict_of(criteria[0]), report::Verdict::emulated);
  EXPECT_EQ(report::verdict_of(criteria[1]), report::Verdict::missed);
  EXPECT_EQ(report::verdict_of(criteria[2]), report::Verdict::missed) << "it has failed";
}

TEST(Verdicts, SurviveTheResultsFile) {
  report::Results results;
  results.criteria = {unjudged(report::kNotPossible, "s", "this", "old driver"),
                      at_most("s", "that", 1, "ms", 0.5)};
  const auto text = report::to_json(results);
  ASSERT_TRUE(text);
  const auto read = report::from_json(*text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(report::verdict_of(read->criteria[0]), report::Verdict::not_possible);
  EXPECT_EQ(report::verdict_of(read->criteria[1]), report::Verdict::met);
  EXPECT_EQ(report::count_text(read->criteria), "1 of 1 criteria met, 1 not judged");
}

TEST(ExitStatus, TellsMissedFromNotPossible) {
  report::Results results;
  results.criteria = {at_most("s", "good", 1, "ms", 0.5),
                      unjudged(report::kNotPossible, "mechanisms", "debugger", "")};
  EXPECT_EQ(exit_status(results), exit_ok);
  results.criteria.push_back(holds("mechanisms", kCanStop, false));
  EXPECT_EQ(exit_status(results), exit_unsupported);
  results.criteria.push_back(at_most("s", "bad", 1, "ms", 2));
  EXPECT_EQ(exit_status(results), exit_failed);
}

TEST(Anonymous, ReplacesWholeWordsOnly) {
  utsname names{};
  uname(&names);
  const std::string host = names.nodename;
  ASSERT_GE(host.size(), 2u);
  EXPECT_EQ(anonymous("on " + host + ": x"), "on host: x");
  EXPECT_EQ(anonymous(host), "host");
  EXPECT_EQ(anonymous("a" + host + "b_" + host), "a" + host + "b_" + host);
}

// sudo makes root of them; the folders that they work in still have their name.
TEST(Anonymous, ReplacesWhoHasBecomeRoot) {
  ::setenv("SUDO_USER", "alice-of-lab", 1);
  EXPECT_EQ(anonymous("LD_LIBRARY_PATH=/home/alice-of-lab/lib"), "LD_LIBRARY_PATH=/home/user/lib");
  ::unsetenv("SUDO_USER");
  EXPECT_EQ(anonymous("root is nobody's name"), "root is nobody's name");
}

TEST(Archive, GivesBackWhatWasPutIn) {
  const TemporaryDirectory temporary;
  const std::string directory = temporary.path() + "/run";
  std::filesystem::create_directory(directory);
  const auto archive = write_archive(directory + "/", {{"results.json", "{}\n"}, {"a.txt", "b"}});
  ASSERT_TRUE(archive) << archive.error().message();
  EXPECT_EQ(*archive, directory + ".tar.gz");
  for (const std::string& place : {directory, *archive}) {
    const auto text = read_member(place, "results.json");
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(*text, "{}\n");
    EXPECT_FALSE(read_member(place, "b.txt"));
  }
  EXPECT_FALSE(read_member(directory + "-none", "a.txt"));
}

TEST(Archive, SaysWhatCannotBeWritten) {
  const auto archive = write_archive("/proc/none", {{"a.txt", "b"}});
  ASSERT_FALSE(archive);
  EXPECT_NE(archive.error().what.find("/proc/none"), std::string::npos) << archive.error().what;
}

TEST(Users, AreThoseWithQueuesOnThisGpu) {
  discover::Snapshot snapshot;
  discover::Process process;
  process.key.pid = 12;
  process.command = "python train.py";
  process.queues.resize(1);
  process.queues[0].gpu_id = 7;
  snapshot.processes = {process};
  EXPECT_EQ(users_of(snapshot, 7), std::vector<std::string>{"12 python train.py"});
  EXPECT_TRUE(users_of(snapshot, 8).empty());
}

}  // namespace
}  // namespace gp::verify
