// Each step of `gpreempt verify` is made to fail once: it is missed, says what to do, and the
// archive is there all the same.
#include <gtest/gtest.h>

#include "verify/verify_support.h"

namespace gp::verify {
namespace {

// A program of verify that does not say the truth: sed has the last word.
struct Fault {
  const char* step;
  const char* lie;     // for sed
  const char* who;     // a part of the command line of those who lie; empty: all
  const char* missed;  // the criterion
  Words options = {};
  int from = 1, to = 1'000'000;  // the starts of such a program that are a liar's
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.step; }

constexpr char kOfflineIsWrong[] = "/^offline /s/wrong_lanes=0/wrong_lanes=3/",
               kOnlineIsWrong[] = "/^online /s/wrong_lanes=0/wrong_lanes=1/";

const Fault kFaults[] = {
    {"program", "s/^rate .*/error calibrate: it is broken/", "", "runs to its end"},
    {"discovery", "/^queue /s/ring=0x/ring=0x1/", "", "at the addresses"},
    {"mechanisms", kOfflineIsWrong, "", "self-debug, 1 process, 1 queue: wrong results"},
    // The first three starts are not of these steps: calibration, and two mechanisms that are
    // tried.
    {"save", kOfflineIsWrong, "", "wrong results", {}, 4},
    {"online", kOnlineIsWrong, "", "wrong results"},
    {"levels", kOfflineIsWrong, "", "wrong results", {}, 4},
    // It stands still for ever: the one thing that must never be.
    {"deaths", "s/^progress .*/progress kernels=1 rounds 64/", "", "daemon killed", {}, 4},
    {"gpus", kOfflineIsWrong, "--node 2", "2 GPUs: wrong results"},
    {"soak", kOnlineIsWrong, "", "wrong results", {"--soak", "1s"}},
};

class FaultyPrograms : public Verify {
 protected:
  // The programs of gpreempt, with one in the place of gpreempt-load.
  void SetUp() override {
    Verify::SetUp();
    fs::create_directory(folder());
    for (const char* name : {"gpreemptd", "vgpu", "vgpud"}) {
      fs::create_symlink(fs::path(GPREEMPT_BIN_DIR) / name, folder() + "/" + name);
    }
    fs::create_symlink(GPREEMPT_BIN_DIR "/../lib", home_ + "/lib");
    fs::copy(GPREEMPT_BIN_DIR "/gpreempt", folder());  // it looks beside itself
    const std::string load = folder() + "/gpreempt-load";
    // The program keeps its pid: sed is beside it, not above.
    std::ofstream(load)
        << "#!/bin/bash\n"
           "echo >> \"$STARTS\"\n"
           "start=$(wc -l < \"$STARTS\")\n"
           "[[ \"$*\" == *\"$LIAR\"* && $start -ge $LIE_FROM && $start -le $LIE_TO ]] || LIE=\n"
           "exec " GPREEMPT_BIN_DIR "/gpreempt-load \"$@\" > >(exec sed -u \"$LIE\")\n";
    fs::permissions(load, fs::perms::owner_all);
  }
  void TearDown() override {
    for (const char* name : {"LIE", "LIAR", "LIE_FROM", "LIE_TO", "STARTS"}) {
      ::unsetenv(name);
    }
    Verify::TearDown();
  }
  std::string folder() const { return home_ + "/bin"; }
  Outcome verify_with(const Fault& fault) const {
    ::setenv("LIE", fault.lie, 1);
    ::setenv("LIAR", fault.who, 1);
    ::setenv("LIE_FROM", std::to_string(fault.from).c_str(), 1);
    ::setenv("LIE_TO", std::to_string(fault.to).c_str(), 1);
    ::setenv("STARTS", (home_ + "/starts").c_str(), 1);
    return vgpu::server::run(
        with(vgpu({"run", "--gpus", "2", "--kfd", "dkms", "--", folder() + "/gpreempt", "verify",
                   "--output", output(), "--rounds", "2", "--step", fault.step}),
             fault.options));
  }
};

class Faults : public FaultyPrograms, public testing::WithParamInterface<Fault> {};

TEST_P(Faults, AreSeenAndNamed) {
  const Fault& fault = GetParam();
  const Outcome outcome = verify_with(fault);
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  const auto found = find(fault.step, fault.missed);
  ASSERT_FALSE(found.empty()) << outcome.out << outcome.err;
  EXPECT_FALSE(is_met(found.front())) << found.front();
  const std::string note = found.front().at("note");
  EXPECT_NE(note.find("To do: "), std::string::npos) << note;
  const bool lost = std::string_view(fault.missed).ends_with("wrong results");
  EXPECT_EQ(note.find("do not stop work that matters") != std::string::npos, lost) << note;
  EXPECT_TRUE(fs::exists(output() + ".tar.gz"));
}

INSTANTIATE_TEST_SUITE_P(Of, Faults, testing::ValuesIn(kFaults),
                         [](const auto& its) { return its.param.step; });

// The third start is self-debug's first, after calibration and a mechanism that the driver lacks.
constexpr int kOfSelfDebug = 3;

TEST_F(FaultyPrograms, AMechanismThatLosesResultsIsNotUsedFurther) {
  const Outcome outcome = verify_with(
      {"mechanisms", kOfflineIsWrong, "", "", {"--step", "levels"}, kOfSelfDebug, kOfSelfDebug});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_FALSE(is_met(find("mechanisms", "self-debug, 1 process, 1 queue: wrong results").at(0)));
  EXPECT_EQ(find("mechanisms", "can be stopped here").at(0).at("note"), "the best: debugger");
  // Which works from outside, and only where no agent is in its place.
  expect_met("levels", "stops of offline, with level 3");
  EXPECT_NE(find("levels", "online p50").at(0).at("note").get<std::string>().find("debugger"),
            std::string::npos);
}

TEST_F(FaultyPrograms, WhereEveryStopIsWrongThatIsNotCalledImpossible) {
  const Outcome outcome = verify_with({"deaths", kOfflineIsWrong, "", ""});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_FALSE(is_met(find("mechanisms", "can be stopped here").at(0)));
  EXPECT_FALSE(is_met(find("mechanisms", "self-debug, 1 process, 1 queue: wrong results").at(0)));
  EXPECT_EQ(find("deaths", "").at(0).at("unjudged"), "skipped");
}

}  // namespace
}  // namespace gp::verify
