// Streams of different class in one program: those of high priority stop those of low priority.
#include "daemon/daemon_support.h"
#include "daemon/virtual_gpu.h"

namespace gp::daemon {
namespace {

class GpuStreams : public DaemonTest {
 protected:
  std::unique_ptr<Program> program(const Environment& more = {}) {
    Environment environment = {{"HSA_TOOLS_LIB", GPREEMPT_LIB_DIR "/libgpreempt_agent.so"},
                               {"GPREEMPT_STREAM_CLASSES", "1"},
                               {"GPREEMPT_SOCKET", socket()}};
    for (const auto& [name, value] : more) {
      environment[name] = value;
    }
    auto started =
        std::make_unique<Program>(Words{GPREEMPT_HIP_DIR "/stream_classes"}, environment);
    EXPECT_EQ(started->line(), "ready");
    return started;
  }
  static unsigned long value(Program& program, const std::string& stream) {
    return std::stoul(program.ask("value " + stream));
  }
  static bool runs(Program& program, const std::string& stream) {
    const unsigned long before = value(program, stream);
    return eventually([&] { return value(program, stream) != before; });
  }
  static bool stands_still(Program& program, const std::string& stream) {
    return eventually([&] {
      const unsigned long before = value(program, stream);
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return value(program, stream) == before;
    });
  }
  // The job of these queues of a process; null if there is none.
  nlohmann::json part_of(pid_t pid, const nlohmann::json& part) {
    const nlohmann::json now = status();
    for (const auto& job : now["jobs"]) {
      for (const auto& process : job["processes"]) {
        if (process["pid"] == pid && process["part"] == part) {
          return job;
        }
      }
    }
    return nullptr;
  }
  bool part_has_state(pid_t pid, const nlohmann::json& part, const std::string& state) {
    return eventually([&] {
      const auto job = part_of(pid, part);
      return job.is_object() && job["state"] == state;
    });
  }
};

TEST_F(GpuStreams, HighPriorityStopsLowPriorityOfTheSameProgram) {
  start_daemon();
  const auto both = program();
  ASSERT_EQ(both->ask("launch low"), "ok");
  ASSERT_EQ(both->ask("launch normal"), "ok");
  ASSERT_TRUE(runs(*both, "low"));
  ASSERT_EQ(both->ask("launch high"), "ok");
  ASSERT_TRUE(part_has_state(both->pid(), "offline", "stopped"));
  EXPECT_TRUE(stands_still(*both, "low"));
  EXPECT_TRUE(runs(*both, "high"));
  EXPECT_TRUE(runs(*both, "normal"));
  const auto job = part_of(both->pid(), "offline");
  EXPECT_EQ(job["class"], "offline");
  EXPECT_EQ(job["mechanism"], "self-debug");
  EXPECT_EQ(part_of(both->pid(), "online")["class"], "online");
  ASSERT_EQ(both->ask("finish high"), "ok");
  ASSERT_TRUE(part_has_state(both->pid(), "offline", "running"));
  EXPECT_TRUE(runs(*both, "low"));
}

TEST_F(GpuStreams, ResultsAreTheSameThoughAStreamIsStopped) {
  start_daemon();
  const auto both = program();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(both->ask("launch low"), "ok");
    ASSERT_EQ(both->ask("work high"), "ok");
    ASSERT_EQ(both->ask("finish low"), "ok");
    ASSERT_EQ(both->ask("launch high"), "ok");
    ASSERT_EQ(both->ask("work normal"), "ok");
    ASSERT_EQ(both->ask("finish high"), "ok");
    ASSERT_EQ(both->ask("work low"), "ok");
  }
}

// Both would stand still until max_stop, which is longer than this test may take.
TEST_F(GpuStreams, WhatOnlineWorkWaitsForRuns) {
  start_daemon("[parameters]\nmax_stop = \"600s\"\n");
  const auto both = program();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(both->ask("wait"), "ok");
  }
  EXPECT_GE(part_of(both->pid(), "offline")["preemptions"], 1);
}

// The normal stream in between is offline, too, and stopped with the low one.
TEST_F(GpuStreams, AndWhatThatWaitsForInTurn) {
  start_daemon("[parameters]\nmax_stop = \"600s\"\n");
  const auto both = program({{"GPREEMPT_CLASS", "offline"}});
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(both->ask("wait chain"), "ok");
  }
  EXPECT_GE(part_of(both->pid(), "offline")["preemptions"], 1);
}

TEST_F(GpuStreams, AreOneWhereARuleSaysWhatTheProgramIs) {
  start_daemon();
  const auto both = program();
  ASSERT_EQ(both->ask("launch low"), "ok");
  ASSERT_EQ(both->ask("launch high"), "ok");
  ASSERT_TRUE(part_has_state(both->pid(), "offline", "stopped"));
  write_config(
      "[[classes.rule]]\ncommand = \"stream_classes\"\nclass = \"offline\"\nenforce = true\n");
  guardian().signal(SIGHUP);
  EXPECT_TRUE(runs(*both, "low")) << "what was stopped for the others is forgotten";
  EXPECT_TRUE(eventually([&] { return part_of(both->pid(), "online").is_null(); }));
  const auto server = online();
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(part_has_state(both->pid(), nullptr, "stopped"));
  EXPECT_TRUE(stands_still(*both, "low"));
  EXPECT_TRUE(stands_still(*both, "high"));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(runs(*both, "low"));
  EXPECT_TRUE(runs(*both, "high"));
  write_config("");
  guardian().signal(SIGHUP);
  EXPECT_TRUE(part_has_state(both->pid(), "offline", "stopped")) << "they are parts again";
  EXPECT_TRUE(stands_still(*both, "low"));
}

TEST_F(GpuStreams, AClientHoldsAllPartsOfAProcess) {
  start_daemon();
  const auto both = program();
  for (const std::string name : {"low", "normal", "high"}) {
    ASSERT_EQ(both->ask("launch " + name), "ok");
  }
  ASSERT_TRUE(part_has_state(both->pid(), "online", "running"));
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client);
  wire::Suspend suspend;
  suspend.pid = static_cast<u32>(both->pid());
  suspend.duration_ns = 60'000'000'000;
  const Status suspended = client->ask(suspend);
  ASSERT_TRUE(suspended) << suspended.error().message();
  for (const std::string name : {"low", "normal", "high"}) {
    EXPECT_TRUE(stands_still(*both, name)) << name;
  }
  wire::Resume resume;
  resume.pid = suspend.pid;
  ASSERT_TRUE(client->ask(resume));
  EXPECT_TRUE(runs(*both, "high"));
  EXPECT_TRUE(runs(*both, "normal"));
}

TEST_F(GpuStreams, OtherProgramsOnlineWorkStopsOnlyTheLowStream) {
  start_daemon();
  const auto both = program();
  const auto server = online();
  ASSERT_EQ(both->ask("launch low"), "ok");
  ASSERT_EQ(both->ask("launch normal"), "ok");
  ASSERT_TRUE(runs(*both, "low"));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(part_has_state(both->pid(), "offline", "stopped"));
  EXPECT_TRUE(stands_still(*both, "low"));
  EXPECT_TRUE(runs(*both, "normal"));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(runs(*both, "low"));
}

TEST_F(GpuStreams, AnOfflineProgramIsStoppedWholeButForItsOnlineStreams) {
  start_daemon();
  const auto both = program({{"GPREEMPT_CLASS", "offline"}});
  ASSERT_EQ(both->ask("launch normal"), "ok");
  ASSERT_TRUE(runs(*both, "normal"));
  ASSERT_EQ(both->ask("launch high"), "ok");
  ASSERT_TRUE(part_has_state(both->pid(), nullptr, "stopped"));
  EXPECT_TRUE(stands_still(*both, "normal"));
  EXPECT_TRUE(runs(*both, "high"));
  ASSERT_EQ(both->ask("finish high"), "ok");
  EXPECT_TRUE(runs(*both, "normal"));
}

TEST_F(GpuStreams, EverythingRunsWhenTheDaemonIsKilled) {
  start_daemon();
  const auto both = program();
  ASSERT_EQ(both->ask("launch low"), "ok");
  ASSERT_EQ(both->ask("launch high"), "ok");
  ASSERT_TRUE(part_has_state(both->pid(), "offline", "stopped"));
  ::kill(daemon_pid(), SIGSTOP);  // its agent's lease ends by itself, or the guardian ends it
  EXPECT_TRUE(runs(*both, "low"));
  // The next daemon begins where this one ended.
  EXPECT_TRUE(part_has_state(both->pid(), "offline", "stopped"));
  EXPECT_TRUE(stands_still(*both, "low"));
  EXPECT_TRUE(runs(*both, "high"));
}

TEST_F(GpuStreams, WithoutAWordPrioritiesMeanNothing) {
  start_daemon();
  const auto both = program({{"GPREEMPT_STREAM_CLASSES", "0"}});
  ASSERT_EQ(both->ask("launch low"), "ok");
  ASSERT_EQ(both->ask("launch high"), "ok");
  EXPECT_TRUE(runs(*both, "low"));
  EXPECT_TRUE(part_of(both->pid(), "online").is_null());
}

}  // namespace
}  // namespace gp::daemon
