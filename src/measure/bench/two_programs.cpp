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
constexpr unsigned kFewest = 4;     // of one program: the other then has some in the same time
constexpr milliseconds kLong = 1h;  // we end the offline program

// Such that the GPU's time is most of a request's.
Words requests_of(const Context& context) {
  return context.virtual_gpu ? Words{"--batch", "512"}
                             : Words{"--batch", "4096", "--width", "2048", "--layers", "8"};
}

Words arguments(const RequestLoad& load, milliseconds duration) {
  Words words = requests_every(load.interval, std::max(kFewest * load.interval, duration));
  words.insert(words.end(), load.kind.begin(), load.kind.end());
  return words;
}

Result<double> quantile_of(const std::vector<double>& latencies, double q) {
  const auto latency = demo::quantile(latencies, q);
  return latency && *latency > 0
             ? Result<double>(*latency)
             : Error{ENODATA, "two programs at once: no request was answered", ""};
}
Result<double> p50_of(const std::vector<double>& latencies) { return quantile_of(latencies, 0.5); }

// Of the requests that arrived from one moment to another. Those without an answer are behind the
// last that has one.
std::vector<double> latencies_between(const demo::Serving& serving, const RequestLoad& load,
                                      u64 from_us, u64 to_us) {
  const u64 interval_us = std::chrono::microseconds(load.interval).count();
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

Result<RequestLoad> request_load_for(const Context& context) {
  RequestLoad load{requests_of(context), 100ms};
  demo::Child alone =
      TRY(context.launcher.server({nullptr, "alone", arguments(load, kTrial * load.interval)}));
  // The fastest: what others do to this machine meanwhile is not to set the pace of all schemes.
  const double latency_ms = TRY(quantile_of(latencies_ms(TRY(context.launcher.served(alone))), 0));
  load.interval = milliseconds(std::max(1L, std::lround(kIntervalOverLatency * latency_ms)));
  return load;
}

Result<double> low_over_high(const Context& context, const RequestLoad& load,
                             const MeasuredMechanism* mechanism, const demo::Scheduler* scheduler) {
  Workload workload{scheduler, "low", arguments(load, kLong)};
  if (mechanism != nullptr) {
    workload.environment = mechanism->environment;
    workload.agent = mechanism->agent;
  }
  demo::Child low = TRY(context.launcher.offline_server(workload));
  demo::Child high =
      TRY(context.launcher.server({scheduler, "high", arguments(load, context.lasting(1s, 20s))}));
  const demo::Serving first = TRY(context.launcher.served(high, {&low}));
  const demo::Serving second = TRY(context.launcher.ended(low));
  const double high_ms = TRY(p50_of(latencies_ms(first)));
  const double low_ms =
      TRY(p50_of(latencies_between(second, load, first.start_us, first.end_us())));
  return low_ms / high_ms;
}

}  // namespace gp::bench
