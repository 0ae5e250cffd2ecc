#include "demo/summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "demo/phases.h"
#include "report/numbers.h"
#include "report/phases.h"
#include "report/verdict.h"

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

using report::ratio;

// The slowest round over the fastest: a factor.
std::optional<double> latency_noise(const report::Phase& alone) {
  const auto spread = report::latency_spread(alone, 0.99);
  return spread ? ratio(spread->highest, spread->lowest) : std::nullopt;
}

// What the slowest round lacks to the fastest: percent.
std::optional<double> speed_noise(const report::Phase& alone) {
  const auto spread = report::speed_spread(alone);
  const auto part = spread ? ratio(spread->lowest, spread->highest) : std::nullopt;
  return part ? std::optional(100 * (1 - *part)) : std::nullopt;
}

std::optional<double> percent(std::optional<double> part) {
  return part ? std::optional(100 * *part) : std::nullopt;
}

// Where one of the two phases that are compared was disturbed most.
std::optional<report::OtherPrograms> others_beside(const report::Phase& a, const report::Phase& b) {
  return report::more_disturbed(report::most_disturbed(a), report::most_disturbed(b));
}

// Percent of one CPU: 140 of 2 CPUs.
ordered_json others_json(const std::optional<report::OtherPrograms>& others) {
  if (!others) {
    return {};
  }
  return {{"cpu_percent", 100 * report::part_of_cpus(*others) * others->cpus},
          {"cpus", others->cpus},
          {"waiting_percent", or_null(percent(ratio(others->waiting_s, others->elapsed_s)))}};
}

ordered_json criterion_json(const report::Criterion& criterion) {
  return {{"what", criterion.what},
          {"unit", criterion.unit},
          {"limit", criterion.limit},
          {"at_least", criterion.at_least},
          {"value", or_null(criterion.value)},
          {"noise", or_null(criterion.noise)},
          {"verdict", report::name(report::verdict_of(criterion))},
          {"others", others_json(criterion.others)}};
}

// Of a phase or of one of its rounds.
ordered_json latencies_and_speed(const PhaseSummary& summary) {
  return {{"online_p50_ms", or_null(summary.online_p50_ms)},
          {"online_p99_ms", or_null(summary.online_p99_ms)},
          {"online_max_ms", or_null(summary.online_max_ms)},
          {"requests", summary.requests},
          {"offline_steps_per_s", or_null(summary.offline_steps_per_s)},
          {"others", others_json(summary.others)}};
}

ordered_json quantiles_json(const Quantiles& quantiles) {
  return {{"p50", or_null(quantiles.p50)},
          {"p99", or_null(quantiles.p99)},
          {"max", or_null(quantiles.max)}};
}

ordered_json phase_json(const report::Phase& phase) {
  const PhaseSummary summary = summarise(phase);
  ordered_json json = {{"name", summary.name}};
  json.update(latencies_and_speed(summary));
  json["preemptions"] = summary.preemptions;
  json["checksum_ok"] = or_null(summary.checksum_ok);
  if (phase.tokens) {
    json["first_token_ms"] = quantiles_json(summary.first_token_ms);
    json["next_token_ms"] = quantiles_json(summary.next_token_ms);
    json["texts_equal"] = or_null(summary.texts_equal);
  }
  json["rounds"] = ordered_json::array();
  for (const report::Phase& round : report::rounds_of(phase)) {
    json["rounds"].push_back(latencies_and_speed(summarise(round)));
  }
  return json;
}

// Of a language model beside which something trained.
report::Criterion same_texts(const report::Phase& without, const report::Phase& with) {
  const auto equal = [](const report::Phase& phase) {
    return phase.tokens && phase.tokens->texts_equal.value_or(false);
  };
  report::Criterion texts;
  texts.scenario = "demo";
  texts.what = "phases beside offline whose texts are those of the model alone";
  texts.unit = "of 2";
  texts.limit = 2;
  texts.at_least = true;
  texts.value = equal(without) + equal(with);
  return texts;
}

}  // namespace

std::optional<double> quantile(std::vector<double> values, double q) {
  return report::Summary(std::move(values)).quantile(q);
}

Quantiles quantiles_of(const std::vector<double>& values) {
  const report::Summary summary(values);
  return {summary.quantile(0.5), summary.quantile(0.99), summary.max()};
}

PhaseSummary summarise(const report::Phase& phase) {
  PhaseSummary summary;
  summary.name = phase.name;
  const Quantiles latency = quantiles_of(phase.online_latency_ms);
  summary.online_p50_ms = latency.p50;
  summary.online_p99_ms = latency.p99;
  summary.online_max_ms = latency.max;
  summary.requests = phase.online_latency_ms.size();
  summary.offline_steps_per_s = phase.offline_steps_per_s;
  summary.preemptions = phase.preemptions;
  summary.checksum_ok = phase.checksum_ok;
  summary.others = phase.others;
  if (phase.tokens) {
    summary.first_token_ms = quantiles_of(phase.tokens->first_ms);
    summary.next_token_ms = quantiles_of(phase.tokens->next_ms);
    summary.texts_equal = phase.tokens->texts_equal;
  }
  return summary;
}

std::string summary_json(const report::Results& results) {
  ordered_json phases = ordered_json::array();
  for (const report::Phase& phase : results.phases) {
    phases.push_back(phase_json(phase));
  }
  ordered_json criteria = ordered_json::array();
  for (const report::Criterion& criterion : results.criteria) {
    criteria.push_back(criterion_json(criterion));
  }
  const ordered_json json = {{"schema_version", kSchemaVersion},
                             {"virtual_gpu", results.environment.virtual_gpu},
                             {"device", results.environment.device},
                             {"phases", phases},
                             {"criteria", criteria}};
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::vector<report::Criterion> criteria_of(const std::vector<report::Phase>& phases) {
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
  latency.noise = latency_noise(*alone);
  latency.others = others_beside(*with, *alone);
  report::Criterion kept;
  kept.scenario = "demo";
  kept.what = "offline steps/s kept beside online";
  kept.unit = "%";
  kept.limit = kLeastKept;
  kept.at_least = true;
  kept.value = percent(ratio(with->offline_steps_per_s, offline->offline_steps_per_s));
  kept.noise = speed_noise(*offline);
  kept.others = others_beside(*with, *offline);
  report::Criterion intact;
  intact.scenario = "demo";
  intact.what = "phases beside online whose offline results are those of an undisturbed run";
  intact.unit = "of 2";
  intact.limit = 2;
  intact.at_least = true;
  intact.value = without->checksum_ok.value_or(false) + with->checksum_ok.value_or(false);
  std::vector<report::Criterion> criteria = {latency, kept, intact};
  if (with->tokens) {
    criteria.push_back(same_texts(*without, *with));
  }
  return criteria;
}

}  // namespace gp::demo
