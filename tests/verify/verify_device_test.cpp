// What `gpreempt verify` finds on virtual GPUs: good ones, old ones, broken ones.
#include <gtest/gtest.h>

#include "verify/verify_support.h"

namespace gp::verify {
namespace {

TEST_F(Verify, BringsAnArchiveWithEverythingInIt) {
  const Outcome outcome = verify({"--rounds", "2", "--anonymous", "--step", "discovery", "--step",
                                  "online", "--step", "gpus"});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  expect_met("program", "exact results");
  expect_met("discovery", "in the driver's list");
  expect_met("discovery", "at the addresses");
  expect_met("online", "wrong results");
  expect_met("online", "stops of offline");
  EXPECT_EQ(find("online", "p99").front().at("unjudged"), "emulated");
  EXPECT_EQ(find("gpus", "all GPUs").front().at("unjudged"), "skipped") << "there is one";

  const std::string archive = output() + ".tar.gz";
  const Outcome list = vgpu::server::run({"tar", "-tzf", archive});
  for (const char* name :
       {"results.json", "report.html", "verify.txt", "environment.txt", "doctor.json",
        "parameters.txt", "topology.txt", "queues.txt", "kernel_log.txt"}) {
    EXPECT_NE(list.out.find(std::string("output/") + name), std::string::npos) << list.out;
    EXPECT_NE(outcome.out.find(name), std::string::npos) << "not listed: " << name;
  }
  const Outcome compared =
      vgpu::server::run({GPREEMPT_BIN_DIR "/gpreempt", "report", "--compare", archive, output()});
  EXPECT_EQ(compared.status, 0) << compared.err;
  EXPECT_NE(compared.out.find("stops of offline"), std::string::npos) << compared.out;
  expect_no_process_left();
}

TEST_F(Verify, StopsEverythingByEveryMechanism) {
  const Outcome outcome = verify({"--rounds", "2", "--step", "mechanisms"});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  for (const char* mechanism : {"kernel", "self-debug", "debugger", "update-queue", "criu"}) {
    const std::string one = std::string(mechanism) + ", 1 process, 1 queue: ";
    expect_met("mechanisms", one + "wrong results");
    expect_met("mechanisms", one + "stops in which a kernel went on");
    expect_met("mechanisms", one + "the kernel's own clock shows the stop");
    expect_met("mechanisms", std::string(mechanism) + ", 2 processes, 2 queues: wrong results");
  }
  expect_met("mechanisms", "a running kernel can be stopped here");
}

TEST_F(Verify, SeesThatNothingStaysStopped) {
  const Outcome outcome =
      verify({"--rounds", "2", "--step", "deaths", "--step", "save", "--step", "levels"});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  for (const char* who :
       {"daemon killed", "daemon and guardian killed", "online killed", "offline killed"}) {
    expect_met("deaths", who);
  }
  expect_met("save", "wrong results");
  expect_met("levels", "wrong results");
  // The classes were those of the priorities, and what was stopped was the low one.
  for (const char* rivals : {"two programs: ", "two streams: "}) {
    expect_met("levels", std::string(rivals) + "stops of low, level 3");
    expect_met("levels", std::string(rivals) + "wrong results");
  }
  const auto streams = find("levels", "two streams: low's p50");
  ASSERT_EQ(streams.size(), 3u) << "without, level 1, level 3";
  EXPECT_EQ(streams[1].at("unjudged"), "not possible");
  EXPECT_NE(streams[2].at("note").get<std::string>().find(", by self-debug"), std::string::npos)
      << streams[2];
}

TEST_F(Verify, StopsAJobOnTwoGpus) {
  const Outcome outcome = vgpu::server::run(
      with(vgpu({"run", "--gpus", "2", "--"}), words({"--rounds", "2", "--step", "gpus"})));
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  expect_met("gpus", "2 GPUs: wrong results");
  expect_met("gpus", "2 GPUs: stops in which a kernel went on");
  expect_met("gpus", "2 GPUs at once: stops of offline on each");
  expect_met("gpus", "2 GPUs at once: wrong results");
}

TEST_F(Verify, SaysWhatAnOldDriverCannotDo) {
  const Outcome outcome = vgpu::server::run(
      with(vgpu({"run", "--kfd", "1.11", "--"}), words({"--rounds", "1", "--step", "mechanisms"})));
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  for (const char* mechanism : {"kernel", "self-debug", "debugger"}) {
    EXPECT_TRUE(is_not_possible("mechanisms", mechanism)) << mechanism << outcome.out;
  }
  expect_met("mechanisms", "update-queue, 1 process, 1 queue: wrong results");
}

TEST_F(Verify, GoesOnAfterAStepThatFails) {
  ASSERT_EQ(vgpu::server::run(vgpu({"start", "broken"})).status, 0);
  // Every stop that is asked of the debugger interface fails; UPDATE_QUEUE is another call.
  ASSERT_EQ(vgpu::server::run(vgpu({"inject", "broken", "suspend-fails=1000000"})).status, 0);
  const Outcome outcome =
      vgpu::server::run(with(vgpu({"exec", "broken", "--"}),
                             words({"--rounds", "1", "--step", "mechanisms", "--step", "gpus"})));
  vgpu::server::run(vgpu({"stop", "broken"}));
  EXPECT_TRUE(is_not_possible("mechanisms", "debugger")) << outcome.out << outcome.err;
  expect_met("mechanisms", "update-queue, 1 process, 1 queue: wrong results");
  EXPECT_FALSE(find("gpus", "").empty()) << "the steps after it did not run";
  EXPECT_TRUE(fs::exists(output() + ".tar.gz"));
}

TEST_F(Verify, NamesALibraryThatDoesNotLoad) {
  const std::string libraries = home_ + "/lib";
  fs::create_directory(libraries);
  std::ofstream(libraries + "/libhsa-runtime64.so.1") << "no library";
  ::setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
  const Outcome outcome = verify({"--rounds", "1", "--step", "discovery"});
  ::unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  const auto failed = find("program", "runs to its end");
  ASSERT_FALSE(failed.empty()) << outcome.out << outcome.err;
  EXPECT_NE(failed.front().at("note").get<std::string>().find("libhsa-runtime64.so.1"),
            std::string::npos)
      << failed.front();
  EXPECT_EQ(find("discovery", "").front().at("unjudged"), "skipped");
  EXPECT_TRUE(fs::exists(output() + ".tar.gz")) << "what was found is brought back all the same";
}

TEST_F(Verify, OnAGpuThatHangsSaysSoAndBringsItBack) {
  ASSERT_EQ(vgpu::server::run(vgpu({"start", "hung", "--hws-timeout", "200ms"})).status, 0);
  ASSERT_EQ(vgpu::server::run(vgpu({"inject", "hung", "hws-hang"})).status, 0);
  const Outcome outcome = vgpu::server::run(
      with(vgpu({"exec", "hung", "--"}), words({"--rounds", "1", "--step", "mechanisms"})));
  vgpu::server::run(vgpu({"stop", "hung"}));
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  const auto failed = find("program", "runs to its end");
  ASSERT_FALSE(failed.empty()) << outcome.out;
  EXPECT_NE(failed.front().at("note").get<std::string>().find("To do: "), std::string::npos);
  EXPECT_EQ(find("mechanisms", "").front().at("unjudged"), "skipped");
  const Outcome log =
      vgpu::server::run({"tar", "-xzOf", output() + ".tar.gz", "--wildcards", "*/kernel_log.txt"});
  EXPECT_EQ(log.out.find("no complaint"), std::string::npos) << log.out;
}

TEST_F(Verify, GoesOnWhereDoctorFindsSomethingBad) {
  ::setenv("GPREEMPT_ONLINE_PRIORITY", "high", 1);
  const Outcome outcome = verify({"--rounds", "1", "--step", "discovery"});
  ::unsetenv("GPREEMPT_ONLINE_PRIORITY");
  EXPECT_EQ(outcome.status, 2) << outcome.out << outcome.err;
  const auto environment = find("doctor", "environment");
  ASSERT_FALSE(environment.empty()) << outcome.out;
  EXPECT_FALSE(is_met(environment.front()));
  EXPECT_NE(environment.front().at("note").get<std::string>().find("To do: "), std::string::npos);
  expect_met("discovery", "in the driver's list");
  EXPECT_TRUE(fs::exists(output() + ".tar.gz"));
}

TEST_F(Verify, DoesWithoutALogThatCannotBeRead) {
  ASSERT_EQ(vgpu::server::run(vgpu({"start", "mute"})).status, 0);
  const Outcome place =
      vgpu::server::run(vgpu({"exec", "mute", "--", "printenv", "GPREEMPT_VGPU_DIR"}));
  fs::remove(place.out.substr(0, place.out.find('\n')) + "/log");
  const Outcome outcome = vgpu::server::run(
      with(vgpu({"exec", "mute", "--"}), words({"--rounds", "1", "--step", "discovery"})));
  vgpu::server::run(vgpu({"stop", "mute"}));
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(is_not_possible("log", "can be read"));
  EXPECT_NE(find("log", "").front().at("note").get<std::string>().find("dmesg"), std::string::npos);
  expect_met("discovery", "in the driver's list");
}

// As on a disk that is full in the end: there is a directory where a file is to be written.
TEST_F(Verify, BringsItsResultsElsewhereIfTheyDoNotFit) {
  fs::create_directories(output() + "/results.json");
  const Outcome outcome = verify({"--rounds", "1", "--step", "discovery"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.err.find("The results go to " + temporary() + "/output."), std::string::npos)
      << outcome.err;
  const std::size_t begin = outcome.out.rfind('\n', outcome.out.size() - 2) + 1;
  const std::string archive = outcome.out.substr(begin, outcome.out.size() - begin - 1);
  const Outcome kept =
      vgpu::server::run({"tar", "-xzOf", archive, "--wildcards", "*/results.json"});
  EXPECT_EQ(kept.status, 0) << archive << kept.err;
  EXPECT_NE(kept.out.find("discovery"), std::string::npos) << kept.out;
}

TEST_F(Verify, SaysWhatIsWrongWithACommandLine) {
  EXPECT_EQ(verify({"--step", "speed"}).status, 2);
  EXPECT_EQ(verify({"--step", "soak"}).status, 2) << "for how long?";
  EXPECT_EQ(verify({"--container", "box"}).status, 2) << "on a virtual GPU?";
  const Outcome no_gpu = verify({"--gpu", "7", "--rounds", "1"});
  EXPECT_EQ(no_gpu.status, 2);
  EXPECT_NE(no_gpu.err.find("no GPU 7"), std::string::npos) << no_gpu.err;
  const Outcome nowhere = vgpu::server::run(
      {GPREEMPT_BIN_DIR "/gpreempt", "verify", "--virtual-gpu", "--output", "/dev/null/verify"});
  EXPECT_NE(nowhere.status, 0);
  EXPECT_NE(nowhere.err.find("--output"), std::string::npos) << nowhere.err;
}

TEST_F(Verify, NeedsAGpu) {
  if (fs::exists("/dev/kfd")) {
    GTEST_SKIP() << "there is one";
  }
  const Outcome outcome = vgpu::server::run(words({}));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("no AMD GPU"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("hint: "), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(output()));
}

}  // namespace
}  // namespace gp::verify
