#include "demo/summary.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "demo/phases.h"

namespace gp::demo {
namespace {

using nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;
constexpr double kMostTimesAlone = 3;  // where online still feels alone
constexpr double kLeastKept = 50;      // percent; what online needs is not offline's to keep

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

const report::Phase* find(const std::vector<report::Phase>& phases, const char* name) {
  const auto found = std::find_if(phases.begin(), phases.end(),
                                  [&](const report::Phase& phase) { return phase.name == name; });
  return found == phases.end() ? nullptr : &*found;
}

std::optional<double> ratio(std::optional<double> value, std::optional<double> base) {
  return value && base && *base > 0 ? std::optional(*value / *base) : std::nullopt;
}

// Of the later half of the requests against the earlier; the larger of both ways, as noise has no
// direction.
std::optional<double> latency_noise(const std::vector<double>& latencies) {
  const auto middle = latencies.begin() + static_cast<std::ptrdiff_t>(latencies.size() / 2);
  const auto noise =
      ratio(quantile({middle, latencies.end()}, 0.99), quantile({latencies.begin(), middle}, 0.99));
  return noise && *noise > 0 ? std::optional(std::max(*noise, 1 / *noise)) : std::nullopt;
}

std::optional<double> speed_noise(const Training& training) {
  if (training.trail.empty()) {
    return std::nullopt;
  }
  const u64 first = training.trail.front().time_us, last = training.trail.back().time_us;
  const u64 middle = first + (last - first) / 2;
  const auto noise =
      ratio(steps_per_second(training, middle, last), steps_per_second(training, first, middle));
  return noise && *noise > 0 ? std::optional(std::min(*noise, 1 / *noise)) : std::nullopt;
}

std::optional<double> percent(std::optional<double> part) {
  return part ? std::optional(100 * *part) : std::nullopt;
}

}  // namespace

std::optional<double> quantile(std::vector<double> values, double q) {
  if (values.empty()) {
    return std::nullopt;
  }
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(q * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

PhaseSummary summarise(const report::Phase& phase) {
  PhaseSummary summary;
  summary.name = phase.name;
  summary.online_p50_ms = quantile(phase.online_latency_ms, 0.5);
  summary.online_p99_ms = quantile(phase.online_latency_ms, 0.99);
  summary.online_max_ms = quantile(phase.online_latency_ms, 1);
  summary.requests = phase.online_latency_ms.size();
  summary.offline_steps_per_s = phase.offline_steps_per_s;
  summary.preemptions = phase.preemptions;
  summary.checksum_ok = phase.checksum_ok;
  return summary;
}

std::string summary_json(const report::Results& results) {
  ordered_json phases = ordered_json::array();
  for (const report::Phase& phase : results.phases) {
    const PhaseSummary summary = summarise(phase);
    phases.push_back({{"name", summary.name},
                      {"online_p50_ms", or_null(summary.online_p50_ms)},
                      {"online_p99_ms", or_null(summary.online_p99_ms)},
                      {"online_max_ms", or_null(summary.online_max_ms)},
                      {"requests", summary.requests},
                      {"offline_steps_per_s", or_null(summary.offline_steps_per_s)},
                      {"preemptions", summary.preemptions},
                      {"checksum_ok", or_null(summary.checksum_ok)}});
  }
  const ordered_json json = {{"schema_version", kSchemaVersion},
                             {"virtual_gpu", results.environment.virtual_gpu},
                             {"device", results.environment.device},
                             {"phases", phases}};
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::vector<report::Criterion> criteria_of(const std::vector<report::Phase>& phases,
                                           const Training& undisturbed) {
  const report::Phase *alone = find(phases, kOnlineAlone), *offline = find(phases, kOfflineAlone),
                      *without = find(phases, kBothWithout), *with = find(phases, kBothWith);
  if (alone == nullptr || offline == nullptr || without == nullptr || with == nullptr) {
    return {};
  }
  report::Criterion latency;
  latency.scenario = "demo";
  latency.what = "online p99 beside offline, against alone";
  latency.unit = "x";
  latency.limit = kMostTimesAlone;
  latency.value = ratio(summarise(*with).online_p99_ms, summarise(*alone).online_p99_ms);
  latency.noise = latency_noise(alone->online_latency_ms);
  report::Criterion kept;
  kept.scenario = "demo";
  kept.what = "offline steps/s kept beside online";
  kept.unit = "%";
  kept.limit = kLeastKept;
  kept.at_least = true;
  kept.value = percent(ratio(with->offline_steps_per_s, offline->offline_steps_per_s));
  kept.noise = percent(speed_noise(undisturbed));
  report::Criterion intact;
  intact.scenario = "demo";
  intact.what = "offline runs whose result is that of an undisturbed one";
  intact.unit = "of 2";
  intact.limit = 2;
  intact.at_least = true;
  intact.value = without->checksum_ok.value_or(false) + with->checksum_ok.value_or(false);
  return {latency, kept, intact};
}

}  // namespace gp::demo
