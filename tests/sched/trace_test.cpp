// The ring of events: bounded, and the newest stay.
#include "sched/trace.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace gp::sched {
namespace {

RC_GTEST_PROP(Trace, TheNewestEventsStayInOrder, ()) {
  const auto added = *rc::gen::inRange<u64>(0, 3 * Trace::kEvents);
  const auto from = *rc::gen::inRange<u64>(0, 3 * Trace::kEvents);
  Trace trace;
  for (u64 i = 0; i < added; ++i) {
    trace.add({.time_ns = 10 * i});
  }
  const u64 oldest = added > Trace::kEvents ? added - Trace::kEvents : 0;
  const u64 first = std::max(from, oldest);
  const std::vector<TraceEvent> events = trace.since(from);
  RC_ASSERT(events.size() == (first < added ? added - first : 0));
  for (u64 i = 0; i < events.size(); ++i) {
    RC_ASSERT(events[i].number == first + i);
    RC_ASSERT(events[i].time_ns == 10 * (first + i));
  }
}

TEST(Trace, EveryKindHasANameOfItsOwn) {
  std::vector<std::string> names;
  for (int kind = 0; kind <= static_cast<int>(TraceKind::lease_ended); ++kind) {
    names.emplace_back(name(static_cast<TraceKind>(kind)));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(std::find(names.begin(), names.end(), "unknown"), names.end());
}

}  // namespace
}  // namespace gp::sched
