#include "report/phases.h"

#include <algorithm>
#include <cmath>

#include "report/numbers.h"
#include "report/verdict.h"

namespace gp::report {
namespace {

struct Known {
  const char *name, *title, *shapes;
};
constexpr Known kKnown[] = {
    {kOnlineAlone, "Online alone", "alone"},
    {kOfflineAlone, "Offline alone", "alone"},
    {kBothWithout, "Both, without gpreempt", "without"},
    {kBothWith, "Both, with gpreempt", "with"},
};

const Known* known(const std::string& name) {
  const auto* found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& each) { return name == each.name; });
  return found == std::end(kKnown) ? nullptr : found;
}

}  // namespace

std::string title_of(const Phase& phase) {
  const Known* found = known(phase.name);
  return found != nullptr ? found->title : phase.name;
}

std::string class_of(const Phase& phase) {
  const Known* found = known(phase.name);
  return found != nullptr ? found->shapes : "other";
}

const Phase* find_phase(const Results& results, const std::string& name) {
  for (const Phase& phase : results.phases) {
    if (phase.name == name) {
      return &phase;
    }
  }
  return nullptr;
}

namespace {

// Unknown if one of the rounds is, unless another already tells that results were lost.
template <class Intact>
std::optional<bool> all_intact(const std::vector<Phase>& rounds, Intact intact) {
  const auto is = [&](bool wanted) {
    return [&, wanted](const Phase& round) { return intact(round) == std::optional(wanted); };
  };
  if (std::ranges::any_of(rounds, is(false))) {
    return false;
  }
  return std::ranges::all_of(rounds, is(true)) ? std::optional(true) : std::nullopt;
}

// Only where every round has them.
std::optional<Tokens> join_tokens(const std::vector<Phase>& rounds) {
  Tokens all;
  for (const Phase& round : rounds) {
    if (!round.tokens) {
      return std::nullopt;
    }
    all.first_ms.insert(all.first_ms.end(), round.tokens->first_ms.begin(),
                        round.tokens->first_ms.end());
    all.next_ms.insert(all.next_ms.end(), round.tokens->next_ms.begin(),
                       round.tokens->next_ms.end());
  }
  all.texts_equal =
      all_intact(rounds, [](const Phase& round) { return round.tokens->texts_equal; });
  return all;
}

std::optional<double> median_speed(const std::vector<Phase>& rounds) {
  std::vector<double> speeds;
  for (const Phase& round : rounds) {
    if (round.offline_steps_per_s) {
      speeds.push_back(*round.offline_steps_per_s);
    }
  }
  return median(std::move(speeds));
}

void append(const Phase& round, u64 start_us, Phase& phase) {
  for (const double arrival_ms : round.online_arrival_ms) {
    phase.online_arrival_ms.push_back(arrival_ms + static_cast<double>(start_us) / 1000);
  }
  phase.online_latency_ms.insert(phase.online_latency_ms.end(), round.online_latency_ms.begin(),
                                 round.online_latency_ms.end());
  for (Span span : round.timeline) {
    span.start_us += start_us;
    span.end_us += start_us;
    phase.timeline.push_back(std::move(span));
  }
  phase.preemptions += round.preemptions;
  phase.duration_s += round.duration_s;
  phase.rounds.push_back(
      {round.online_latency_ms.size(), round.duration_s, round.offline_steps_per_s, round.others});
}

template <class Number>
std::optional<Spread> spread_of(const Phase& phase, Number number) {
  std::vector<double> values;
  for (const Phase& round : rounds_of(phase)) {
    if (const std::optional<double> value = number(round)) {
      values.push_back(*value);
    }
  }
  if (values.size() < 2) {
    return std::nullopt;
  }
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  return Spread{*lowest, *highest};
}

}  // namespace

Phase join_rounds(const std::vector<Phase>& rounds) {
  Phase phase;
  if (rounds.empty()) {
    return phase;
  }
  phase.name = rounds.front().name;
  phase.checksum_ok = all_intact(rounds, [](const Phase& round) { return round.checksum_ok; });
  phase.tokens = join_tokens(rounds);
  phase.offline_steps_per_s = median_speed(rounds);
  for (const Phase& round : rounds) {
    phase.others = phase.rounds.empty() ? round.others : sum(phase.others, round.others);
    append(round, static_cast<u64>(std::llround(phase.duration_s * 1e6)), phase);
  }
  return phase;
}

std::vector<Phase> rounds_of(const Phase& phase) {
  std::vector<Phase> rounds;
  std::size_t first = 0;
  for (const Round& each : phase.rounds) {
    const std::size_t end =
        first + std::min<u64>(each.requests, phase.online_latency_ms.size() - first);
    Phase round;
    round.name = phase.name;
    round.online_latency_ms.assign(
        phase.online_latency_ms.begin() + static_cast<std::ptrdiff_t>(first),
        phase.online_latency_ms.begin() + static_cast<std::ptrdiff_t>(end));
    round.offline_steps_per_s = each.offline_steps_per_s;
    round.duration_s = each.duration_s;
    round.others = each.others;
    rounds.push_back(std::move(round));
    first = end;
  }
  return rounds;
}

std::optional<Spread> latency_spread(const Phase& phase, double q) {
  return spread_of(
      phase, [q](const Phase& round) { return Summary(round.online_latency_ms).quantile(q); });
}

std::optional<Spread> speed_spread(const Phase& phase) {
  return spread_of(phase, [](const Phase& round) { return round.offline_steps_per_s; });
}

std::vector<double> round_starts_us(const Phase& phase) {
  std::vector<double> starts;
  double start_us = 0;
  for (const Round& round : phase.rounds) {
    if (start_us > 0) {
      starts.push_back(start_us);
    }
    start_us += round.duration_s * 1e6;
  }
  return starts;
}

}  // namespace gp::report
