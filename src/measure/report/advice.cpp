#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/comparisons.h"
#include "report/numbers.h"
#include "report/phases.h"
#include "report/verdict.h"

namespace gp::report {
namespace {

using Finding = std::optional<std::string>;

std::optional<double> p99(const Results& results, const char* phase_name) {
  const Phase* phase = find_phase(results, phase_name);
  return phase == nullptr ? std::nullopt : Summary(phase->online_latency_ms).quantile(0.99);
}

std::optional<double> offline_kept(const Results& results) {
  const Phase *alone = find_phase(results, kOfflineAlone), *with = find_phase(results, kBothWith);
  return alone != nullptr && with != nullptr
             ? ratio(with->offline_steps_per_s, alone->offline_steps_per_s)
             : std::nullopt;
}

double preemptions_per_s(const Results& results) {
  const Phase* with = find_phase(results, kBothWith);
  return with != nullptr && with->duration_s > 0
             ? static_cast<double>(with->preemptions) / with->duration_s
             : 0;
}

Finding data_differs(const Results& results) {
  for (const Phase& phase : results.phases) {
    if (phase.checksum_ok == false) {
      return fmt::format("{}: offline's result differs from that of an undisturbed run.",
                         title_of(phase));
    }
  }
  return std::nullopt;
}

Finding never_preempted(const Results& results) {
  const Phase* with = find_phase(results, kBothWith);
  if (with == nullptr || with->preemptions != 0) {
    return std::nullopt;
  }
  return "Offline was never stopped.";
}

Finding online_still_waits(const Results& results) {
  const auto factor = ratio(p99(results, kBothWith), p99(results, kOnlineAlone));
  if (!factor || *factor <= 2) {
    return std::nullopt;
  }
  return fmt::format("Beside offline, online's p99 is still {} what it is alone.",
                     format_factor(*factor));
}

// Among those that stop running kernels: a gate shuts fastest of all, and online waits longest.
Finding a_faster_way(const Results& results) {
  const Scheme *fastest = nullptr, *slowest = nullptr;
  for (const Scheme& scheme : results.schemes) {
    if (is_measured(scheme) && scheme.level == 3) {
      fastest =
          fastest == nullptr || *scheme.stop_p50_us < *fastest->stop_p50_us ? &scheme : fastest;
      slowest =
          slowest == nullptr || *scheme.stop_p50_us > *slowest->stop_p50_us ? &scheme : slowest;
    }
  }
  if (fastest == nullptr || fastest->mechanism == slowest->mechanism) {
    return std::nullopt;
  }
  return fmt::format("{} stops fastest here: {} (p50), against {} of {}.", fastest->mechanism,
                     format_us(fastest->stop_p50_us), format_us(slowest->stop_p50_us),
                     slowest->mechanism);
}

Finding one_queue_at_a_time(const Results& results) {
  for (const Scheme& scheme : results.schemes) {
    if (scheme.mechanism == "update-queue" && scheme.queues > 1 && is_measured(scheme)) {
      return fmt::format("update-queue stops {} queues one after the other: {} (p50).",
                         scheme.queues, format_us(scheme.stop_p50_us));
    }
  }
  return std::nullopt;
}

Finding offline_loses_much(const Results& results) {
  const auto kept = offline_kept(results);
  if (!kept || *kept >= 0.8) {
    return std::nullopt;
  }
  return fmt::format("Offline keeps {} of its speed; what online itself needs is part of the loss.",
                     format_percent(*kept));
}

Finding machine_not_quiet(const Results& results) {
  const auto kept = offline_kept(results);
  if (!kept || *kept <= kFasterThanAlone) {
    return std::nullopt;
  }
  return fmt::format(
      "Offline measured {} of its speed alone, which cannot be: something else used this machine "
      "in one of the phases.",
      format_percent(*kept));
}

Finding others_disturb(const Results& results) {
  const std::optional<OtherPrograms> most = most_disturbed(results);
  if (!is_disturbed(most)) {
    return std::nullopt;
  }
  return fmt::format("Other programs took up to {} meanwhile.", others_text(*most));
}

Finding rounds_differ(const Results& results) {
  constexpr double kApart = 1.1;
  const Phase* alone = find_phase(results, kOfflineAlone);
  const auto spread = alone == nullptr ? std::nullopt : speed_spread(*alone);
  if (!spread || spread->highest <= kApart * spread->lowest) {
    return std::nullopt;
  }
  return fmt::format("Offline alone made {} steps/s in one round and {} in another.",
                     format_number(spread->lowest), format_number(spread->highest));
}

Finding many_preemptions(const Results& results) {
  constexpr double kMany = 20;
  const double rate = preemptions_per_s(results);
  if (rate < kMany) {
    return std::nullopt;
  }
  return fmt::format("{} preemptions per second: each one costs offline a stop and a start.",
                     format_number(rate));
}

Finding nothing_to_win(const Results& results) {
  const auto factor = ratio(p99(results, kBothWithout), p99(results, kOnlineAlone));
  if (!factor || *factor >= 1.5) {
    return std::nullopt;
  }
  return fmt::format("Without gpreempt, offline slows online's p99 by {} only.",
                     format_factor(*factor));
}

// Noise is a factor between ratios, and a difference between other numbers.
bool is_within_noise(const Criterion& criterion) {
  if (!criterion.value || !criterion.noise) {
    return false;
  }
  const double value = *criterion.value, noise = *criterion.noise;
  if (criterion.unit != "x") {
    return std::fabs(value - criterion.limit) < std::fabs(noise);
  }
  const double factor = value / criterion.limit;
  return factor > 0 && noise > 0 && std::max(factor, 1 / factor) < std::max(noise, 1 / noise);
}

Finding noise_hides_the_margin(const Results& results) {
  for (const Criterion& criterion : results.criteria) {
    if (is_within_noise(criterion)) {
      return fmt::format("{}: {} {} is nearer to its limit than this machine's noise, {} {}.",
                         criterion.what, format_number(criterion.value), criterion.unit,
                         format_number(criterion.noise), criterion.unit);
    }
  }
  return std::nullopt;
}

Finding not_measured(const Results& results) {
  const auto count = std::count_if(results.criteria.begin(), results.criteria.end(),
                                   [](const Criterion& criterion) { return !criterion.value; });
  if (count == 0) {
    return std::nullopt;
  }
  return count == 1
             ? std::string("One criterion could not be measured, and counts as not met.")
             : fmt::format("{} criteria could not be measured: they count as not met.", count);
}

Finding few_requests(const Results& results) {
  constexpr std::size_t kEnough = 200;
  const Phase* with = find_phase(results, kBothWith);
  if (with == nullptr || with->online_latency_ms.empty() ||
      with->online_latency_ms.size() >= kEnough) {
    return std::nullopt;
  }
  return fmt::format("{} requests: p99 rests on the slowest {}.", with->online_latency_ms.size(),
                     with->online_latency_ms.size() <= 100 ? "one" : "two");
}

Finding emulated(const Results& results) {
  if (!results.environment.virtual_gpu) {
    return std::nullopt;
  }
  return fmt::format(
      "Virtual GPU: the times are those of an emulator that shares {} with the programs. Ratios "
      "carry over to hardware, absolute times do not.",
      results.environment.cores == 0   ? std::string("the processor")
      : results.environment.cores == 1 ? std::string("one core")
                                       : fmt::format("{} cores", results.environment.cores));
}

struct Rule {
  Finding (*finds)(const Results& results);
  const char* remedy;
};
constexpr Rule kRules[] = {
    {data_differs,
     "Do not use gpreempt on this machine before the cause is known: please report it, with "
     "results.json and the output of gpreempt doctor."},
    {never_preempted,
     "gpreempt status and gpreempt doctor --pid PID say which ways to stop it work, and why the "
     "others do not."},
    {others_disturb,
     "Repeat it while nothing else runs. What was missed beside them is inconclusive; what was met "
     "is met."},
    {machine_not_quiet,
     "Repeat it while nothing else runs: these numbers are not to be relied on."},
    {rounds_differ, "Repeat it while nothing else runs, or for longer (--duration)."},
    {online_still_waits,
     "gpreempt trace shows where the time goes. If stops are slow, put a faster way first in "
     "mechanisms = [...]; level 3 stops running kernels, level 1 waits for them."},
    {a_faster_way, "Put it first in mechanisms = [...] of gpreemptd.toml."},
    {one_queue_at_a_time,
     "self-debug and debugger (KFD 1.13 and later) stop all queues of a process in one call."},
    {offline_loses_much,
     "policy = \"share\" leaves offline a part of the time; policy = \"slo\" stops it only when "
     "online's latency target is at risk."},
    {many_preemptions,
     "A larger linger_min joins requests that follow each other closely into one preemption."},
    {nothing_to_win,
     "The load hardly competes for the GPU. Try longer kernels offline, or more requests."},
    {noise_hides_the_margin, "Repeat it on a quiet machine, or for longer."},
    {not_measured, "The remark at each says why."},
    {few_requests, "A longer run (--duration) gives a p99 that can be relied on."},
    {emulated, "Run the same command on a machine with an AMD GPU."},
};

}  // namespace

std::vector<Advice> advice_for(const Results& results) {
  std::vector<Advice> advice;
  for (const Rule& rule : kRules) {
    if (Finding finding = rule.finds(results)) {
      advice.push_back({std::move(*finding), rule.remedy});
    }
  }
  return advice;
}

}  // namespace gp::report
