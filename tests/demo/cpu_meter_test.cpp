// How much CPU other programs took: from the kernel's texts, and from this machine.
#include "demo/cpu_meter.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gp::demo {
namespace {

constexpr char kStat[] = R"(cpu  600 60 6 1000 10 3 3 3 0 0
cpu0 100 10 1 500 5 1 2 3 0 0
cpu1 200 20 2 500 5 1 0 0 0 0
cpu3 300 30 3 0 0 1 1 0 0 0
intr 12345
)";

cpu_set_t cpus(std::initializer_list<int> numbers) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int number : numbers) {
    CPU_SET(number, &set);
  }
  return set;
}

TEST(BusyTime, IsAllButIdleAndWaitingOfTheCpusWeMayUse) {
  const auto busy = parse_busy_time(kStat, cpus({0, 1, 2}));
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->cpus, 2u);
  EXPECT_EQ(busy->ticks, 117u + 223u);
}

TEST(BusyTime, OfATextThatIsNoneIsUnknown) {
  EXPECT_FALSE(parse_busy_time("", cpus({0})));
  EXPECT_FALSE(parse_busy_time("cpu  1 2 3\ncpu0 1 2 x\n", cpus({0})));
  EXPECT_FALSE(parse_busy_time(kStat, cpus({2})));
}

TEST(ProcessTime, IsFoundBehindAnyName) {
  const auto time = parse_process_time(
      "7 (a) b) c) S 3 7 7 0 -1 4194560 100 200 0 0 11 22 33 44 20 0 1 0 500 0 0\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->parent, 3);
  EXPECT_EQ(time->own_ticks, 33u);
  EXPECT_EQ(time->ended_ticks, 77u);
  EXPECT_FALSE(parse_process_time("7 (a) S 3 7 7"));
  EXPECT_FALSE(parse_process_time(""));
}

TEST(Pressure, IsTheTotalForWhichSomebodyWaited) {
  EXPECT_EQ(parse_waiting_us("some avg10=96.85 avg60=87.58 avg300=61.77 total=375772043\n"
                             "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
            375772043u);
  EXPECT_FALSE(parse_waiting_us(""));
  EXPECT_FALSE(parse_waiting_us("full avg10=0.00 total=5\n"));
}

TEST(Trees, HaveAllDescendantsOnce) {
  const std::map<pid_t, ProcessTime> all = {{1, {0, 1000, 0}}, {10, {1, 1, 2}},  {11, {10, 4, 0}},
                                            {12, {11, 8, 0}},  {20, {1, 16, 0}}, {30, {1, 500, 0}}};
  EXPECT_EQ(ticks_of_trees(all, {10, 20}), 31u);
  EXPECT_EQ(ticks_of_trees(all, {10, 11}), 15u) << "11 is in the tree of 10";
  EXPECT_EQ(ticks_of_trees(all, {99}), 0u) << "it has ended";
}

// Whatever else runs on this machine while these are run.
constexpr u64 kTicks = 50;
const double kUsedS = static_cast<double>(kTicks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
constexpr double kErrorS = 0.1;

[[noreturn]] void be_busy() {
  for (;;) {
    asm volatile("");  // or the compiler may assume that it ends
  }
}

// However slowly it gets it.
void wait_until_it_has_used(pid_t pid, u64 ticks) {
  while (process_time(pid)->own_ticks < ticks) {
    ::usleep(1000);
  }
}

TEST(Meter, WhatAChildUsesIsNotThatOfOthers) {
  const CpuMeter meter;
  const pid_t child = ::fork();
  if (child == 0) {
    be_busy();
  }
  wait_until_it_has_used(child, kTicks);
  const auto running = meter.read();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto ended = meter.read();
  for (const auto& others : {running, ended}) {
    ASSERT_TRUE(others);
    EXPECT_GE(others->cpus, 1u);
    EXPECT_LE(others->cpu_s, others->elapsed_s * others->cpus - kUsedS + kErrorS);
  }
}

TEST(Meter, WhatAProcessUsesThatIsNoChildIsThatOfOthers) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t between = ::fork();
  if (between == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      be_busy();
    }
    ::_exit(::write(ends[1], &grandchild, sizeof grandchild) == sizeof grandchild ? 0 : 1);
  }
  ::waitpid(between, nullptr, 0);
  pid_t stranger = 0;
  ASSERT_EQ(::read(ends[0], &stranger, sizeof stranger), static_cast<ssize_t>(sizeof stranger));
  const CpuMeter meter;
  wait_until_it_has_used(stranger, process_time(stranger)->own_ticks + kTicks);
  const auto others = meter.read();
  ::kill(stranger, SIGKILL);
  ASSERT_TRUE(others);
  EXPECT_GE(others->cpu_s, kUsedS - kErrorS);
}

}  // namespace
}  // namespace gp::demo
