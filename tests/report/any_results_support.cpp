#include <rapidcheck.h>

#include <algorithm>

#include "report/results_support.h"

namespace gp::report {
namespace {

std::string text() {
  // Characters that some layer may mistake for its own, and some beyond ASCII.
  const std::vector<std::string> parts = {"a",  "<b>", "&",  "\"",   "'", "\\",
                                          "\n", "é",   "漢", "🙂", " "};
  std::string result;
  for (const std::string& part :
       *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts))) {
    result += part;
  }
  return result;
}

double number() { return *rc::gen::arbitrary<double>(); }
std::optional<double> maybe_number() {
  return *rc::gen::arbitrary<bool>() ? std::optional(number()) : std::nullopt;
}
bool flag() { return *rc::gen::arbitrary<bool>(); }

template <class Make>
auto some(int most, Make make) {
  std::vector<decltype(make())> values(static_cast<std::size_t>(*rc::gen::inRange(0, most + 1)));
  for (auto& value : values) {
    value = make();
  }
  return values;
}

Span span() {
  const u64 a = *rc::gen::arbitrary<u64>(), b = *rc::gen::arbitrary<u64>();
  return {text(), text(), std::min(a, b), std::max(a, b)};
}

std::optional<OtherPrograms> maybe_others() {
  return flag() ? std::optional(
                      OtherPrograms{number(), number(), *rc::gen::arbitrary<u32>(), maybe_number()})
                : std::nullopt;
}

// Of which every request is in one.
std::vector<Round> rounds(u64 requests) {
  std::vector<Round> rounds = {{0, number(), maybe_number(), maybe_others()}};
  for (u64 i = 0; i < requests; ++i) {
    if (flag()) {
      rounds.push_back({0, number(), maybe_number(), maybe_others()});
    }
    ++rounds.back().requests;
  }
  return rounds;
}

Phase phase() {
  Phase phase;
  phase.name = text();
  phase.online_latency_ms = some(5, number);
  for (std::size_t i = 0; i < phase.online_latency_ms.size(); ++i) {
    phase.online_arrival_ms.push_back(number());
  }
  phase.offline_steps_per_s = maybe_number();
  phase.preemptions = *rc::gen::arbitrary<u64>();
  if (flag()) {
    phase.checksum_ok = flag();
  }
  phase.duration_s = number();
  phase.timeline = some(5, span);
  if (flag()) {
    phase.rounds = rounds(phase.online_latency_ms.size());
  }
  phase.others = maybe_others();
  if (flag()) {
    phase.tokens = {some(5, number), some(9, number),
                    flag() ? std::optional(flag()) : std::nullopt};
  }
  return phase;
}

Criterion criterion() {
  return {text(),         text(),         text(), number(),      flag(),
          maybe_number(), maybe_number(), text(), maybe_others()};
}

Scheme scheme() {
  return {text(),
          *rc::gen::arbitrary<int>(),
          *rc::gen::arbitrary<u32>(),
          maybe_number(),
          maybe_number(),
          maybe_number(),
          maybe_number(),
          maybe_number(),
          maybe_number(),
          maybe_number(),
          text(),
          maybe_number()};
}

BatchWay batch_way() {
  BatchWay way{text(),
               text(),
               *rc::gen::arbitrary<u32>(),
               maybe_number(),
               maybe_number(),
               maybe_number(),
               maybe_number(),
               {},
               {},
               text()};
  if (flag()) {
    way.stop_unmaps = *rc::gen::arbitrary<u64>();
    way.start_unmaps = *rc::gen::arbitrary<u64>();
  }
  return way;
}

LingerRun linger_run() {
  return {text(), maybe_number(), maybe_number(), maybe_number(), maybe_number(), flag()};
}

ReservedRun reserved_run() {
  return {*rc::gen::arbitrary<u32>(), maybe_number(), maybe_number(), maybe_number()};
}

}  // namespace

Results any_results() {
  Results results;
  results.environment = {flag(), text(), text(), *rc::gen::arbitrary<u32>(), text(), text(),
                         text(), text(), text()};
  results.phases = some(4, phase);
  results.criteria = some(4, criterion);
  results.schemes = some(4, scheme);
  if (flag()) {
    results.batching = {*rc::gen::arbitrary<u32>(), *rc::gen::arbitrary<u32>(), some(4, batch_way)};
  }
  if (flag()) {
    results.reservation = {*rc::gen::arbitrary<u32>(), *rc::gen::arbitrary<u32>(),
                           some(3, reserved_run), text()};
  }
  results.lingers = some(4, linger_run);
  return results;
}

}  // namespace gp::report
