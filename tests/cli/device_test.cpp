// `gpreempt` on the virtual GPU, on running HIP programs. Each case runs under `vgpu run`.
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "mechanism_support.h"
#include "server/server_support.h"
#include "support/eventually.h"
#include "support/temporary_directory.h"

namespace gp::cli {
namespace {

using mechanism::all_run_again;
using mechanism::Victim;
using vgpu::server::Child;
using vgpu::server::Outcome;
using vgpu::server::Words;

std::string text(pid_t pid) { return std::to_string(pid); }

class Device : public testing::Test {
 protected:
  // With a runtime directory of the test's own.
  Words command(Words words) const {
    words.insert(words.begin(),
                 {"env", "XDG_RUNTIME_DIR=" + home_, std::string(GPREEMPT_BIN_DIR) + "/gpreempt"});
    return words;
  }
  Outcome gpreempt(const Words& words) const { return vgpu::server::run(command(words)); }
  // Waits until every queue is stopped, as the device sees it.
  static bool stops(const Victim& victim) {
    return eventually([&] { return mechanism::all_stopped(victim.pid()); });
  }
  const TemporaryDirectory temporary_;
  const std::string home_ = temporary_.path();
};

TEST_F(Device, QueuesShowWhoseTheyAre) {
  ::setenv("AMD_QUEUE_TAG", "llm", 1);
  Victim victim;
  ::unsetenv("AMD_QUEUE_TAG");
  const auto json = nlohmann::json::parse(gpreempt({"queues", "--json"}).out);
  ASSERT_FALSE(json["queues"].empty());
  for (const auto& queue : json["queues"]) {
    EXPECT_EQ(queue["pid"], victim.pid());
    EXPECT_EQ(queue["start_time"], victim.key().start_time);
    EXPECT_EQ(queue["tag"], "llm");
    EXPECT_EQ(queue["active"], true);
  }
  EXPECT_EQ(json["nodes"][0]["gfx"], "gfx90a");
  const Outcome table = gpreempt({"queues", "--pid", text(victim.pid())});
  EXPECT_NE(table.out.find("mechanism_victim"), std::string::npos) << table.out;
  EXPECT_EQ(gpreempt({"queues", "--exists", text(victim.pid()) + ":0"}).status, 0);
  EXPECT_EQ(gpreempt({"queues", "--exists", text(victim.pid()) + ":900"}).status, 1);
  EXPECT_NE(gpreempt({"queues", "--class", "online"}).out.find("No queues."), std::string::npos);
}

TEST_F(Device, SuspendEndsWhenTheTimeIsOver) {
  Victim victim;
  const Outcome outcome = gpreempt({"suspend", "--pid", text(victim.pid()), "--for", "50ms"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("stopped (debugger"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("the time is over"), std::string::npos) << outcome.out;
  EXPECT_TRUE(victim.makes_progress());
}

TEST_F(Device, SuspendEndsOnCtrlCAndOnSigterm) {
  Victim victim;
  for (const int number : {SIGINT, SIGTERM}) {
    Child suspend(command({"suspend", "--pid", text(victim.pid()), "--for", "1min"}));
    ASSERT_TRUE(stops(victim));
    EXPECT_TRUE(victim.stands_still());
    suspend.signal(number);
    EXPECT_EQ(suspend.wait().status, 0);
    EXPECT_TRUE(victim.makes_progress());
  }
}

TEST_F(Device, WhenSuspendIsKilledTheQueuesRun) {
  Victim victim;
  Child suspend(command({"suspend", "--pid", text(victim.pid()), "--for", "1min"}));
  ASSERT_TRUE(stops(victim));
  suspend.signal(SIGKILL);
  suspend.wait();
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_EQ(gpreempt({"resume"}).status, 1) << "its file means nothing any more";
}

TEST_F(Device, ResumeEndsASuspend) {
  Victim victim;
  Child suspend(command({"suspend", "--pid", text(victim.pid()), "--for", "1min"}));
  ASSERT_TRUE(stops(victim));
  ASSERT_TRUE(eventually(
      [&] { return std::filesystem::exists(home_ + "/gpreempt/suspend-" + text(suspend.pid())); }));
  EXPECT_EQ(gpreempt({"resume", "--pid", "1"}).status, 1);
  const Outcome outcome = gpreempt({"resume", "--pid", text(victim.pid())});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_EQ(suspend.wait().status, 0);
}

TEST_F(Device, SuspendOfOneQueueLeavesTheOthersRunning) {
  Victim victim({"--queues", "1"});
  const u32 chosen = mechanism::queue_states(victim.pid()).rbegin()->first;
  Child suspend(command({"suspend", "--pid", text(victim.pid()), "--queue", std::to_string(chosen),
                         "--grace", "10", "--for", "1min"}));
  ASSERT_TRUE(
      eventually([&] { return mechanism::queue_states(victim.pid())[chosen] == "suspended"; }));
  EXPECT_TRUE(victim.makes_progress());
  suspend.signal(SIGTERM);
  EXPECT_EQ(suspend.wait().status, 0);
  EXPECT_TRUE(all_run_again(victim.pid()));
}

TEST_F(Device, SuspendSaysWhenTheProcessEnded) {
  auto victim = std::make_unique<Victim>();
  Child suspend(command({"suspend", "--pid", text(victim->pid()), "--for", "1min"}));
  ASSERT_TRUE(stops(*victim));
  victim.reset();
  const Outcome outcome = suspend.wait();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("has ended"), std::string::npos) << outcome.out;
}

TEST_F(Device, WhatCannotBeSuspendedSaysWhy) {
  Victim old({"--no-runtime"});
  const Outcome unsupported = gpreempt({"suspend", "--pid", text(old.pid()), "--for", "1s"});
  EXPECT_EQ(unsupported.status, 4) << unsupported.err;
  EXPECT_NE(unsupported.err.find("RUNTIME_ENABLE"), std::string::npos) << unsupported.err;
  const std::vector<std::pair<Words, int>> cases = {
      {{"--pid", "2147483647"}, 1},
      {{"--pid", text(::getpid())}, 1},  // no queues
      {{"--pid", text(old.pid()), "--mechanism", "self-debug"}, 5},
  };
  for (const auto& [words, status] : cases) {
    Words all = {"suspend", "--for", "1s"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = gpreempt(all);
    EXPECT_EQ(outcome.status, status) << testing::PrintToString(words) << outcome.err;
    EXPECT_NE(outcome.err.find("gpreempt: "), std::string::npos);
  }
  EXPECT_TRUE(old.makes_progress());
}

TEST_F(Device, DoctorTellsWhichWaysWork) {
  Victim victim;
  const Outcome good = gpreempt({"doctor", "--json", "--pid", text(victim.pid())});
  EXPECT_EQ(good.status, 0) << good.out;
  const auto json = nlohmann::json::parse(good.out);
  EXPECT_EQ(json["kfd_version"], "1.17");
  EXPECT_GT(json["nodes"][0]["save_area_bytes"], 0);
  for (const auto& mechanism : json["mechanisms"]) {
    if (mechanism["name"] == "debugger") {
      EXPECT_EQ(mechanism["usable"], true);
    }
    EXPECT_FALSE(mechanism["reason"].is_null()) << mechanism;
  }
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_EQ(gpreempt({"doctor", "--pid", "2147483647"}).status, 1);
  const Outcome status = gpreempt({});
  EXPECT_EQ(status.status, 0);
  EXPECT_NE(status.out.find("of 1 process"), std::string::npos) << status.out;
}

TEST_F(Device, WatchPrintsALinePerEvent) {
  Child watch(command({"queues", "--watch", "--json"}));
  {
    Victim victim;
    ASSERT_TRUE(eventually([&] {
      return gpreempt({"queues", "--exists", text(victim.pid()) + ":0"}).status == 0;
    }));
    const std::string output = watch.read_until("\n");
    const auto event = nlohmann::json::parse(output.substr(0, output.find('\n')));
    EXPECT_EQ(event["event"], "appeared");
    EXPECT_EQ(event["pid"], victim.pid());
    EXPECT_EQ(event["start_time"], victim.key().start_time);
    EXPECT_FALSE(event["command"].is_null());
  }
  EXPECT_NE(watch.read_until("vanished").find("vanished"), std::string::npos);
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait().status, 0);
}

}  // namespace
}  // namespace gp::cli
