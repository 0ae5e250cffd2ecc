// What the user sees of `vgpu`: exit codes, output, errors.
#include <signal.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "server/server_support.h"

namespace vgpu::server {
namespace {

class CommandLine : public ServerTest {};

TEST_F(CommandLine, RunPassesOnTheExitStatus) {
  EXPECT_EQ(vgpu({"run", "--", "true"}).status, 0);
  EXPECT_EQ(vgpu({"run", "--", "false"}).status, 1);
  EXPECT_EQ(vgpu({"run", "--", "sh", "-c", "exit 42"}).status, 42);
  EXPECT_EQ(vgpu({"run", "--", "sh", "-c", "kill -SEGV $$"}).status, 128 + SIGSEGV);
  EXPECT_EQ(vgpu({"run", "--", "/does/not/exist"}).status, 127);
  EXPECT_EQ(vgpu({"run", "--", "/etc/passwd"}).status, 126);
  EXPECT_TRUE(leftovers().empty());
}

TEST_F(CommandLine, RunLeavesArgumentsAndOutputAlone) {
  const Outcome outcome =
      vgpu({"run", "--", "printf", "<%s>", "", "a b", "[1,2]", "--", "-x", "it's", "$HOME", "\\"});
  EXPECT_EQ(outcome.out, "<><a b><[1,2]><--><-x><it's><$HOME><\\>");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(vgpu({"run", "--", "sh", "-c", "echo oops >&2"}).err, "oops\n");
}

TEST_F(CommandLine, RunForwardsSignals) {
  for (const int number : {SIGTERM, SIGINT}) {
    Child child({vgpu(), "run", "--", "sh", "-c",
                 "trap 'exit 11' TERM INT; echo ready; while :; do sleep 0.01; done"});
    ASSERT_TRUE(child.expect_line("ready"));
    child.signal(number);
    EXPECT_EQ(child.wait().status, 11);
  }
  EXPECT_TRUE(leftovers().empty());
}

TEST_F(CommandLine, ProgramsWithoutAGpuBehaveNormally) {
  EXPECT_EQ(vgpu({"run", "--", "bash", "-c",
                  "x=$(echo a | tr a b); [ $x = b ] && export Y=1 && "
                  "env | grep -q ^Y=1$ && (exit 3)"})
                .status,
            3);
  EXPECT_EQ(vgpu({"run", "--", "env", "-i", "/bin/echo", "bare"}).out, "bare\n");
  EXPECT_EQ(vgpu({"run", "--", "find", "/sys/module/amdgpu", "-name", "initstate"}).out,
            "/sys/module/amdgpu/initstate\n");
}

TEST_F(CommandLine, WrongUsageIsExitCode2WithAHint) {
  const std::vector<Words> wrong = {{},
                                    {"bogus"},
                                    {"run"},
                                    {"run", "--"},
                                    {"run", "--cus", "0", "--", "true"},
                                    {"run", "--vram", "lots", "--", "true"},
                                    {"run", "--profile", "h100", "--", "true"},
                                    {"run", "--nonsense", "--", "true"},
                                    {"start"},
                                    {"start", "a/b"},
                                    {"start", "-x"},
                                    {"start", ".."},
                                    {"list", "--", "true"},
                                    {"stop", "a b"}};
  for (const Words& words : wrong) {
    const Outcome outcome = vgpu(words);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(words);
    EXPECT_NE(outcome.err.find("hint: "), std::string::npos) << testing::PrintToString(words);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(CommandLine, WhatIsUnknownIsNamed) {
  EXPECT_NE(vgpu({"frob"}).err.find("unknown command 'frob'"), std::string::npos);
  EXPECT_NE(vgpu({"--frob"}).err.find("unknown option '--frob'"), std::string::npos);
}

TEST_F(CommandLine, HelpNamesEveryDeviceOption) {
  const Outcome outcome = vgpu({"run", "--help"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* option :
       {"--profile", "--gpus", "--cus", "--hqds", "--workers", "--vram", "--kfd", "--cost-model",
        "--ptrace-rule", "--early-ioctls", "--kernel-patches"}) {
    EXPECT_NE(outcome.out.find(option), std::string::npos) << option;
  }
}

TEST_F(CommandLine, TheServerKnowsTheSameDeviceOptions) {
  const Outcome help = run({program("vgpud"), "--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* option : {"--dir", "--log", "--ready-fd", "--lifetime-fd", "--profile", "--cus",
                             "--kernel-patches", "--hws-timeout"}) {
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
}

TEST_F(CommandLine, TheServerRefusesWhatItDoesNotKnow) {
  const std::string vgpud = program("vgpud"), place = devices() + "/refused";
  const Words refused[] = {{vgpud},
                           {vgpud, "--dir", place, "--color", "red"},
                           {vgpud, "--dir", place, "--cus", "many"},
                           {vgpud, "--dir", place, "--log", "loud"},
                           {vgpud, "--dir", place, "--ready-fd", "-1"},
                           {vgpud, "--dir", place, "word"}};
  for (const Words& words : refused) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, 2) << words.back();
    EXPECT_NE(outcome.err.find("vgpud --help"), std::string::npos) << outcome.err;
  }
}

TEST_F(CommandLine, ADeviceThatDoesNotRunIsExitCode3) {
  for (const Words& words : std::vector<Words>{{"stop", "lab"},
                                               {"exec", "lab", "--", "true"},
                                               {"stats", "lab"},
                                               {"stats"},
                                               {"inject", "lab", "clear"}}) {
    const Outcome outcome = vgpu(words);
    EXPECT_EQ(outcome.status, 3) << words[0];
    EXPECT_NE(outcome.err.find("hint: "), std::string::npos) << words[0];
  }
}

TEST_F(CommandLine, OptionsReachTheDevice) {
  EXPECT_EQ(vgpu({"run", "--kfd", "1.11", "--", client(), "version"}).out, "1.11\n");
  EXPECT_EQ(vgpu({"run", "--kfd", "1.17", "--", client(), "version"}).out, "1.17\n");
  EXPECT_EQ(vgpu({"run", "--gpus", "3", "--", "ls", "/dev/dri"}).out,
            "card0\ncard1\ncard2\nrenderD128\nrenderD129\nrenderD130\n");
}

TEST_F(CommandLine, ASwitchMayStandAlone) {
  const auto is_patched = [&](Words options) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", vgpu(), "list"});
    return vgpu(options).out.find("with kernel patches") != std::string::npos;
  };
  EXPECT_TRUE(is_patched({"--kernel-patches"}));
  EXPECT_TRUE(is_patched({"--kernel-patches", "--cus", "4"}));
  EXPECT_TRUE(is_patched({"--kernel-patches", "on"}));
  EXPECT_FALSE(is_patched({"--kernel-patches=off"}));
  EXPECT_FALSE(is_patched({}));
}

TEST_F(CommandLine, KernelPatchesAreForANewDriver) {
  const Outcome outcome = vgpu({"run", "--kernel-patches", "--kfd", "1.11", "--", "true"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("--kfd 1.17"), std::string::npos);
}

TEST_F(CommandLine, StatsHaveTheDocumentedKeys) {
  ASSERT_EQ(start("lab", {"--cus", "4", "--hqds", "6", "--vram", "1G"}).status, 0);
  const auto stats = nlohmann::json::parse(vgpu({"stats", "lab", "--json"}).out);
  EXPECT_EQ(stats["schema_version"], 1);
  ASSERT_EQ(stats["gpus"].size(), 1u);
  for (const char* key : {"gpu_id", "profile", "cus", "hqds", "hqds_active", "wave_instructions",
                          "dispatches", "unmaps", "runlists", "waves_saved", "waves_restored",
                          "saved_bytes", "loans", "loans_refused"}) {
    EXPECT_TRUE(stats["gpus"][0].contains(key)) << key;
  }
  EXPECT_EQ(stats["gpus"][0]["cus"], 4);
  EXPECT_EQ(stats["gpus"][0]["hqds"], 6);
  EXPECT_TRUE(stats["queues"].empty());
  EXPECT_NE(vgpu({"stats", "lab"}).out.find("PROFILE"), std::string::npos);
}

TEST_F(CommandLine, StatsFindTheOnlyDeviceAndTheOwnOne) {
  ASSERT_EQ(start("one", {"--cus", "3"}).status, 0);
  EXPECT_EQ(nlohmann::json::parse(vgpu({"stats", "--json"}).out)["gpus"][0]["cus"], 3);
  ASSERT_EQ(start("two", {"--cus", "5"}).status, 0);
  EXPECT_EQ(vgpu({"stats"}).status, 2) << "which one?";
  const Outcome inside = vgpu({"run", "--cus", "7", "--", vgpu(), "stats", "--json"});
  EXPECT_EQ(nlohmann::json::parse(inside.out)["gpus"][0]["cus"], 7);
}

TEST_F(CommandLine, InjectRefusesWhatItDoesNotKnow) {
  ASSERT_EQ(start("lab").status, 0);
  EXPECT_EQ(vgpu({"inject", "lab", "unmap-delay=20ms"}).status, 0);
  EXPECT_EQ(vgpu({"inject", "lab", "clear"}).status, 0);
  const Outcome outcome = vgpu({"inject", "lab", "gremlins"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("hws-hang"), std::string::npos) << "lists what there is";
}

TEST_F(CommandLine, APrivateDirectoryOfSomebodyElseIsRefused) {
  ASSERT_EQ(start("lab").status, 0);
  ASSERT_EQ(vgpu({"stop", "lab"}).status, 0);
  ASSERT_EQ(::chmod(devices().c_str(), 0777), 0);
  const Outcome outcome = start("lab");
  EXPECT_EQ(outcome.status, 4);
  EXPECT_NE(outcome.err.find("hint: "), std::string::npos);
}

}  // namespace
}  // namespace vgpu::server
