#include "report/tiers.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/format.h"

namespace gp::report {
namespace {

const BatchWay* one_call(const Results& results) {
  if (!results.batching) {
    return nullptr;
  }
  const auto& ways = results.batching->ways;
  const auto found = std::find_if(ways.begin(), ways.end(),
                                  [](const BatchWay& way) { return way.call_for == kOneCall; });
  return found == ways.end() ? nullptr : &*found;
}

std::optional<double> online_ms(const Results& results) {
  for (const Scheme& scheme : results.schemes) {
    if (scheme.mechanism == "kernel" && scheme.online_p99_ms > 0) {
      return scheme.online_p99_ms;
    }
  }
  return std::nullopt;
}

// With slots kept free for online: there may be less of them in use.
std::optional<double> slots_used_percent(const Results& results) {
  std::optional<double> percent;
  if (results.reservation) {
    for (const ReservedRun& run : results.reservation->runs) {
      if (run.reserved_slots > 0) {
        percent = 100 * run.slots_used;
      }
    }
  }
  return percent;
}

}  // namespace

std::vector<Tier> hardware_tiers(const Results& results) {
  if (!results.batching) {
    return {};
  }
  const BatchWay* way = one_call(results);
  const auto of_way = [&](auto value) {
    return way == nullptr ? std::nullopt : std::optional<double>(value(*way));
  };
  const std::string queues = fmt::format("{} queues", results.batching->queues);
  return {
      {fmt::format("unmap of {} by one call, p50", queues),
       "ms",
       {1, 0.5, 0.3},
       false,
       of_way([](const BatchWay& each) { return each.stop_p50_us / 1000; })},
      {fmt::format("remap of {} by one call, p50", queues),
       "ms",
       {1, 0.5, 0.3},
       false,
       of_way([](const BatchWay& each) { return each.start_p50_us / 1000; })},
      {fmt::format("{} as one: unmaps to stop them", queues),
       "",
       {2},
       false,
       of_way([](const BatchWay& each) { return each.stop_unmaps.value_or(each.calls); })},
      {"online p99 beside offline, kernel", "ms", {15, 10, 5}, false, online_ms(results)},
      {"queue slots in use, some reserved", "%", {80}, true, slots_used_percent(results)},
  };
}

std::optional<double> reached(const Tier& tier) {
  std::optional<double> best;
  for (const double limit : tier.limits) {
    if (tier.value && (tier.at_least ? *tier.value > limit : *tier.value < limit)) {
      best = limit;
    }
  }
  return best;
}

std::string limits_text(const Tier& tier) {
  std::vector<std::string> limits;
  for (const double limit : tier.limits) {
    limits.push_back(format_short(limit));
  }
  return fmt::format("{} {}{}{}", tier.at_least ? ">" : "<", fmt::join(limits, " / "),
                     tier.unit.empty() ? "" : " ", tier.unit);
}

}  // namespace gp::report
