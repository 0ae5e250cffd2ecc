#include "bench/two_programs.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "bench/criteria.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

// A program alone would use two thirds of the GPU: two of them want a third more than there is.
constexpr double kIntervalOverLatency = 1.5;
constexpr unsigned kTrial = 10;     // requests that tell how long one takes
constexpr milliseconds kLong = 1h;  // we end the offline program

// Such that the GPU's time is most of a request's.
Words requests_of(const Context& context) {
  return context.virtual_gpu ? Words{"--batch", "512"}
                             : Words{"--batch", "4096", "--width", "2048", "--layers", "8"};
}

Words arguments(const Contest& contest, milliseconds duration) {
  Words words = requests_every(contest.interval, std::max(contest.interval, duration));
  words.insert(words.end(), contest.kind.begin(), contest.kind.end());
  return words;
}

Result<double> p50_of(const std::vector<double>& latencies) {
  const auto p50 = demo::quantile(latencies, 0.5);
  return p50 && *p50 > 0 ? Result<double>(*p50)
                         : Error{ENODATA, "two programs at once: no request was answered", ""};
}

// Of the requests that arrived from one moment to another. Those without an answer are behind the
// last that has one.
std::vector<double> latencies_between(const demo::Serving& serving, const Contest& contest,
                                      u64 from_us, u64 to_us) {
  const u64 interval_us = std::chrono::microseconds(contest.interval).count();
  std::vector<double> all;
  for (u64 i = 0;; ++i) {
    const u64 arrived_us = serving.start_us + i * interval_us;
    if (arrived_us >= to_us) {
      return all;
    }
    if (arrived_us >= from_us) {
      const u64 latency_us =
          i < serving.requests.size() ? serving.requests[i].latency_us : to_us - arrived_us;
      all.push_back(static_cast<double>(latency_us) / 1000);
    }
  }
}

}  // namespace

Result<Contest> contest_for(const Context& context) {
  Contest contest{requests_of(context), 100ms};
  demo::Child alone =
      TRY(context.actors.server({nullptr, "alone", arguments(contest, kTrial * contest.interval)}));
  const double latency_ms = TRY(p50_of(latencies_ms(TRY(context.actors.served(alone)))));
  contest.interval = milliseconds(std::max(1L, std::lround(kIntervalOverLatency * latency_ms)));
  return contest;
}

Result<double> low_over_high(const Context& context, const Contest& contest,
                             const Mechanism* mechanism, const demo::Scheduler* scheduler) {
  Actors::Casting casting{scheduler, "low", arguments(contest, kLong)};
  if (mechanism != nullptr) {
    casting.environment = mechanism->environment;
    casting.agent = mechanism->agent;
  }
  demo::Child low = TRY(context.actors.offline_server(casting));
  demo::Child high =
      TRY(context.actors.server({scheduler, "high", arguments(contest, context.lasting(1s, 20s))}));
  const demo::Serving first = TRY(context.actors.served(high, {&low}));
  const demo::Serving second = TRY(context.actors.ended(low));
  const double high_ms = TRY(p50_of(latencies_ms(first)));
  const double low_ms =
      TRY(p50_of(latencies_between(second, contest, first.start_us, first.end_us())));
  return low_ms / high_ms;
}

}  // namespace gp::bench
