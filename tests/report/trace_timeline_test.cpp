// From the events of the daemon's ring to who had the GPU when.
#include "report/trace.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "report/trace_support.h"

namespace gp::report {
namespace {

constexpr u64 kEndUs = 10'000;

// "track what start-end", in order.
std::vector<std::string> timeline(const std::string& trace, u64 start_us = 0, u64 end_us = kEndUs) {
  const auto spans = timeline_of(trace, start_us * 1000, end_us * 1000);
  std::vector<std::string> lines;
  if (!spans) {
    return {spans.error().what};
  }
  for (const Span& span : *spans) {
    lines.push_back(fmt::format("{} {} {}-{}", span.track, span.what, span.start_us, span.end_us));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}
using Lines = std::vector<std::string>;

TEST(TraceTimeline, APreemptionIsAStopATimeStoppedAndAStart) {
  EXPECT_EQ(
      timeline(one_preemption()),
      (Lines{"offline running 200-1300", "offline running 6200-10000", "offline stopped 1300-6200",
             "online running 1000-5000", "scheduler start 6000-6200", "scheduler stop 1010-1300"}));
}

TEST(TraceTimeline, TimesAreFromTheStartOfThePhaseAndWithinIt) {
  EXPECT_EQ(
      timeline(one_preemption(), 4000, 6100),
      (Lines{"offline stopped 0-2100", "online running 0-1000", "scheduler start 2000-2100"}));
}

TEST(TraceTimeline, WhenTheRingHasLostTheBeginningItIsInferred) {
  const std::string trace = event(4096, 4000, "busy", "online", 3) +
                            event(4097, 4500, "idle", "online", 2) +
                            event(4098, 6000, "start_decided", "offline", 1) +
                            event(4099, 6200, "process_started", "offline", 1, 11, 200'000);
  EXPECT_EQ(timeline(trace), (Lines{"offline may run 6200-10000", "offline stopped 4000-6200",
                                    "online 2 running 4000-10000", "online running 4000-4500",
                                    "scheduler start 6000-6200"}));
}

TEST(TraceTimeline, AStopWhoseDecisionIsLostStartsWhereTheAnswerSays) {
  EXPECT_EQ(timeline(event(4096, 1300, "process_stopped", "offline", 1, 11, 290'000)),
            (Lines{"offline stopped 1300-10000", "scheduler stop 1010-1300"}));
}

TEST(TraceTimeline, AStopDecidedWhileTheStartIsUnderWayIsOneStopAndOneStart) {
  const std::string trace = event(0, 1000, "stop_decided", "offline", 1) +
                            event(1, 1300, "process_stopped", "offline", 1, 11, 300'000) +
                            event(2, 2000, "start_decided", "offline", 1) +
                            event(3, 2400, "stop_decided", "offline", 1) +
                            event(4, 2600, "process_started", "offline", 1, 11, 600'000) +
                            event(5, 2900, "process_stopped", "offline", 1, 11, 300'000);
  EXPECT_EQ(timeline(trace), (Lines{"offline may run 1000-1300", "offline may run 2600-2900",
                                    "offline stopped 1300-2600", "offline stopped 2900-10000",
                                    "scheduler start 2000-2600", "scheduler stop 1000-1300",
                                    "scheduler stop 2400-2900"}));
}

TEST(TraceTimeline, AStartThatAStopOvertookLastedUntilTheStopWasDecided) {
  const std::string trace = event(0, 2000, "start_decided", "offline", 1) +
                            event(1, 2400, "stop_decided", "offline", 1) +
                            event(2, 2900, "process_stopped", "offline", 1, 11, 500'000) +
                            event(3, 4000, "start_decided", "offline", 1) +
                            event(4, 4100, "process_started", "offline", 1, 11, 100'000);
  const Lines lines = timeline(trace);
  EXPECT_TRUE(std::count(lines.begin(), lines.end(), "scheduler start 2000-2400"));
  EXPECT_TRUE(std::count(lines.begin(), lines.end(), "scheduler start 4000-4100"));
}

TEST(TraceTimeline, AJobIsStoppedWhenTheLastOfItsProcessesIs) {
  const std::string trace = event(0, 100, "process_joined", "offline", 1, 11) +
                            event(1, 100, "process_joined", "offline", 1, 12) +
                            event(2, 200, "busy", "offline", 1) +
                            event(3, 1000, "stop_decided", "offline", 1) +
                            event(4, 1100, "process_stopped", "offline", 1, 11, 100'000) +
                            event(5, 1400, "process_stopped", "offline", 1, 12, 400'000) +
                            event(6, 2000, "start_decided", "offline", 1) +
                            event(7, 2100, "process_started", "offline", 1, 12, 100'000) +
                            event(8, 2300, "process_started", "offline", 1, 11, 300'000);
  EXPECT_EQ(timeline(trace), (Lines{"offline running 200-1400", "offline running 2100-10000",
                                    "offline stopped 1400-2100", "scheduler start 2000-2300",
                                    "scheduler stop 1000-1400"}));
}

TEST(TraceTimeline, AJobThatNeverSaysWhetherItIsBusyMayRun) {
  const std::string trace = event(0, 100, "process_joined", "offline", 1, 11) +
                            event(1, 1000, "stop_decided", "offline", 1) +
                            event(2, 1100, "process_stopped", "offline", 1, 11, 100'000) +
                            event(3, 2000, "lease_ended", "offline", 1, 11) +
                            event(4, 3000, "process_left", "offline", 1, 11);
  EXPECT_EQ(timeline(trace), (Lines{"offline may run 100-1100", "offline may run 2000-3000",
                                    "offline stopped 1100-2000", "scheduler lease ended 2000-2000",
                                    "scheduler stop 1000-1100"}));
}

TEST(TraceTimeline, JobsOfOneClassHaveTracksOfTheirOwn) {
  const std::string trace = event(0, 100, "process_joined", "offline", 1, 11) +
                            event(1, 200, "process_joined", "offline", 5, 12) +
                            event(2, 300, "busy", "offline", 5) +
                            event(3, 400, "busy", "offline", 1);
  EXPECT_EQ(timeline(trace), (Lines{"offline 2 running 300-10000", "offline running 400-10000"}));
}

TEST(TraceTimeline, AJobThatIsNeitherStoppedNorSaysAnythingIsLeftOut) {
  const std::string trace = event(0, 100, "process_joined", "normal", 1, 11) +
                            event(1, 300, "process_joined", "normal", 2, 12) +
                            event(2, 300, "busy", "normal", 2);
  EXPECT_EQ(timeline(trace), (Lines{"normal running 300-10000"}));
}

TEST(TraceTimeline, FailuresAreMoments) {
  const std::string trace = event(0, 100, "process_joined", "offline", 1, 11) +
                            event(1, 1000, "stop_decided", "offline", 1) +
                            event(2, 1200, "mechanism_failed", "offline", 1, 11, 1) +
                            event(3, 1300, "job_failed", "offline", 1, 0, 1) +
                            event(4, 1300, "start_decided", "offline", 1);
  const Lines lines = timeline(trace);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "scheduler failed 1200-1200"), 1);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "scheduler failed 1300-1300"), 1);
}

TEST(TraceTimeline, ALineThatIsNotUnderstoodIsShown) {
  EXPECT_EQ(timeline("{\"number\":1}\n"),
            (Lines{"the trace cannot be understood: {\"number\":1}"}));
  EXPECT_EQ(timeline(one_preemption() + "\n").size(), 1U) << "an empty line";
  EXPECT_TRUE(timeline("").empty());
}

RC_GTEST_PROP(TraceTimeline, WhateverHappensAJobIsInOneStateAtATime, ()) {
  const std::vector<std::string> events = {"process_joined",
                                           "process_left",
                                           "busy",
                                           "idle",
                                           "stop_decided",
                                           "start_decided",
                                           "process_stopped",
                                           "mechanism_failed",
                                           "job_failed",
                                           "process_started",
                                           "lease_ended"};
  std::vector<TraceLine> lines;
  u64 now = 1000;
  const auto count = *rc::gen::inRange<u64>(0, 60);
  for (u64 i = 0; i < count; ++i) {
    now += *rc::gen::inRange<u64>(0, 5);
    lines.push_back({i, now, *rc::gen::elementOf(events), "offline", *rc::gen::inRange<u64>(1, 3),
                     *rc::gen::inRange<pid_t>(1, 3), *rc::gen::inRange<i64>(0, 3)});
  }
  std::map<u64, u64> free_from;
  std::map<std::pair<u64, SliceKind>, u64> ordered_from;  // of one kind, a job has one at a time
  for (const Slice& slice : slices_of(lines, now + 5).slices) {
    RC_ASSERT(slice.start_ns <= slice.end_ns);
    RC_ASSERT(slice.end_ns <= now + 5);
    if (!is_of_scheduler(slice.kind)) {
      RC_ASSERT(slice.start_ns >= free_from[slice.job]);
      free_from[slice.job] = slice.end_ns;
    } else if (slice.kind == SliceKind::stop || slice.kind == SliceKind::start) {
      u64& from = ordered_from[{slice.job, slice.kind}];
      RC_ASSERT(slice.start_ns >= from);
      from = slice.end_ns;
    }
  }
}

}  // namespace
}  // namespace gp::report
