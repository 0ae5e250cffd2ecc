// The program gpreempt on a kernel that has the driver but no GPU: it says so in clear words, and
// knows which ways of stopping queues the driver would allow.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support.h"

namespace gp::stock {
namespace {

constexpr int kNoDevice = 3;  // exit status of gpreempt

void expect_text(const Ended& ended, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    EXPECT_NE(ended.output.find(text), std::string::npos) << "no \"" << text << "\" in:\n"
                                                          << ended.output;
  }
}

TEST(Program, DoctorSaysWhatIsThereAndWhatIsMissing) {
  const Ended ended = run_program("gpreempt doctor");
  EXPECT_EQ(ended.status, kNoDevice);
  expect_text(
      ended, {"kernel            6.12.95+deb12-amd64", "KFD interface     1.17", "No GPU.",
              "GPUs              bad: the driver has none", "fix: see the kernel log",
              "device            ok: /dev/kfd can be used", "debugger API      ok: KFD 1.17 has it",
              "scheduler         ok: the hardware's"});
}

TEST(Program, DoctorSpeaksJson) {
  const Ended ended = run_program("gpreempt doctor --json");
  EXPECT_EQ(ended.status, kNoDevice);
  expect_text(ended, {R"("kfd_version": "1.17")", R"("nodes": [])", R"("name": "debugger")"});
}

TEST(Program, DoctorTriesTheMechanismsOnAProcess) {
  const Victim victim(Victim::Uses::kfd_with_runtime);
  const Ended ended = run_program("gpreempt doctor --pid " + std::to_string(victim.pid()));
  EXPECT_EQ(ended.status, kNoDevice);
  expect_text(ended,
              {"debugger          usable", "self-debug        no: self-debug works only inside",
               "update-queue      no: update-queue works only inside"});
}

TEST(Stock, DoctorSaysThatTheDriverIsNotPatched) {
  const Victim victim(Victim::Uses::kfd_with_runtime);
  const Ended ended = run_program("gpreempt doctor --pid " + std::to_string(victim.pid()));
  expect_text(ended,
              {"kernel            no: this driver has no preemption calls", "docs/kernel.md"});
}

// The probe attaches a debugger and detaches it again: nothing of it may stay.
TEST(Program, DoctorLeavesNoDebuggerBehind) {
  const Victim victim(Victim::Uses::kfd_with_runtime);
  run_program("gpreempt doctor --pid " + std::to_string(victim.pid()));
  EXPECT_EQ(victim.seize(), 0);
}

TEST(Program, QueuesOfNoGpuAreNone) {
  const Ended ended = run_program("gpreempt queues");
  EXPECT_EQ(ended.status, 0);
  expect_text(ended, {"No GPU.", "No queues."});
}

}  // namespace
}  // namespace gp::stock
