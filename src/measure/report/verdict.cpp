#include "report/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"

namespace gp::report {

double part_of_cpus(const OtherPrograms& others) {
  const double all_s = others.elapsed_s * others.cpus;
  return all_s > 0 ? others.cpu_s / all_s : 0;
}

bool is_disturbed(const OtherPrograms& others) {
  const bool enough_for_all =
      others.waiting_s && *others.waiting_s < kLeastWaiting * others.elapsed_s;
  return part_of_cpus(others) > kMostOfCpus && !enough_for_all;
}

bool is_disturbed(const std::optional<OtherPrograms>& others) {
  return others && is_disturbed(*others);
}

std::string others_text(const OtherPrograms& others) {
  return fmt::format("{} of {} CPU{}", format_percent(part_of_cpus(others) * others.cpus),
                     others.cpus, others.cpus == 1 ? "" : "s");
}

std::optional<OtherPrograms> sum(const std::optional<OtherPrograms>& a,
                                 const std::optional<OtherPrograms>& b) {
  if (!a || !b) {
    return std::nullopt;
  }
  OtherPrograms both{
      a->cpu_s + b->cpu_s, a->elapsed_s + b->elapsed_s, std::max(a->cpus, b->cpus), {}};
  if (a->waiting_s && b->waiting_s) {
    both.waiting_s = *a->waiting_s + *b->waiting_s;
  }
  return both;
}

std::optional<OtherPrograms> more_disturbed(const std::optional<OtherPrograms>& a,
                                            const std::optional<OtherPrograms>& b) {
  if (!a || !b) {
    return a ? a : b;
  }
  // A time in which nobody had to wait for a CPU hides none in which somebody had.
  if (is_disturbed(*a) != is_disturbed(*b)) {
    return is_disturbed(*b) ? b : a;
  }
  return part_of_cpus(*b) > part_of_cpus(*a) ? b : a;
}

std::optional<OtherPrograms> most_disturbed(const Phase& phase) {
  std::optional<OtherPrograms> most = phase.rounds.empty() ? phase.others : std::nullopt;
  for (const Round& round : phase.rounds) {
    most = more_disturbed(most, round.others);
  }
  return most;
}

std::optional<OtherPrograms> most_disturbed(const Results& results) {
  std::optional<OtherPrograms> most;
  for (const Phase& phase : results.phases) {
    most = more_disturbed(most, most_disturbed(phase));
  }
  for (const Criterion& criterion : results.criteria) {
    most = more_disturbed(most, criterion.others);
  }
  return most;
}

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::met: return "met";
    case Verdict::missed: return "missed";
    case Verdict::inconclusive: return "inconclusive";
    case Verdict::not_possible: return kNotPossible;
    case Verdict::skipped: return kSkipped;
    case Verdict::emulated: return kEmulated;
    case Verdict::shown: return kShown;
  }
  return "unknown";
}

const char* shown_as(Verdict verdict) {
  return verdict == Verdict::met ? "ok" : verdict == Verdict::missed ? "FAILED" : name(verdict);
}

Verdict verdict_of(const Criterion& criterion) {
  if (criterion.unjudged) {
    return *criterion.unjudged == kSkipped    ? Verdict::skipped
           : *criterion.unjudged == kEmulated ? Verdict::emulated
           : *criterion.unjudged == kShown    ? Verdict::shown
                                              : Verdict::not_possible;
  }
  const bool met = criterion.value && (criterion.at_least ? *criterion.value >= criterion.limit
                                                          : *criterion.value <= criterion.limit);
  return met                              ? Verdict::met
         : is_disturbed(criterion.others) ? Verdict::inconclusive
                                          : Verdict::missed;
}

bool is_met(const Criterion& criterion) { return verdict_of(criterion) == Verdict::met; }
bool is_missed(const Criterion& criterion) { return verdict_of(criterion) == Verdict::missed; }
bool is_inconclusive(const Criterion& criterion) {
  return verdict_of(criterion) == Verdict::inconclusive;
}

bool is_unjudged(const Criterion& criterion) { return criterion.unjudged.has_value(); }

std::string count_text(const std::vector<Criterion>& criteria) {
  const auto unjudged = std::ranges::count_if(criteria, is_unjudged);
  std::string text = fmt::format("{} of {} criteria met", std::ranges::count_if(criteria, is_met),
                                 static_cast<long>(criteria.size()) - unjudged);
  if (const auto unknown = std::ranges::count_if(criteria, is_inconclusive)) {
    text += fmt::format(", {} inconclusive", unknown);
  }
  if (unjudged != 0) {
    text += fmt::format(", {} not judged", unjudged);
  }
  return text;
}

}  // namespace gp::report
