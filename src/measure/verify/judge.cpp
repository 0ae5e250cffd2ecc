#include "verify/judge.h"

#include <fmt/format.h>

#include <string_view>

#include "demo/summary.h"
#include "report/numbers.h"

namespace gp::verify {
namespace {

bool is_time(const report::Criterion& criterion) {
  for (const std::string_view unit : {"ms", "us", "x", "%"}) {
    if (criterion.unit == unit) {
      return true;
    }
  }
  return false;
}

}  // namespace

report::Criterion unjudged(const char* verdict, std::string step, std::string what,
                           std::string why) {
  report::Criterion criterion = at_least(std::move(step), std::move(what), 1, "", std::nullopt);
  criterion.unjudged = verdict;
  criterion.note = std::move(why);
  return criterion;
}

report::Criterion tiered(std::string step, std::string what, std::span<const double> limits_ms,
                         const std::vector<double>& values_ms, double q) {
  const std::optional<double> value = demo::quantile(values_ms, q);
  report::Criterion criterion =
      at_most(std::move(step), std::move(what), limits_ms.front(), "ms", value);
  criterion.note = fmt::format("p50 {}, p99 {}, max {}, {} times",
                               report::format_ms(demo::quantile(values_ms, 0.5)),
                               report::format_ms(demo::quantile(values_ms, 0.99)),
                               report::format_ms(demo::quantile(values_ms, 1)), values_ms.size());
  for (const double better : limits_ms.subspan(1)) {
    criterion.note += fmt::format("; below {} ms: {}", report::format_short(better),
                                  value && *value < better ? "yes" : "no");
  }
  return criterion;
}

void show_times(std::span<report::Criterion> criteria) {
  for (report::Criterion& criterion : criteria) {
    if (is_time(criterion) && !criterion.unjudged) {
      criterion.unjudged = report::kShown;
    }
  }
}

void mark_emulated(std::span<report::Criterion> criteria) {
  for (report::Criterion& criterion : criteria) {
    const bool may_be_judged = criterion.unjudged.value_or(report::kShown) == report::kShown;
    if (is_time(criterion) && criterion.value && may_be_judged) {
      criterion.unjudged = report::kEmulated;
    }
  }
}

}  // namespace gp::verify
