// Does online work notice that it is not alone? Runs of it alone and beside an offline job take
// turns; the ratio of two runs alone is the noise of this machine.
#include <fmt/format.h>

#include <algorithm>

#include "bench/criteria.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

constexpr int kRepeats = 3;
constexpr double kP50Limit = 1.15, kP99Limit = 1.5;

struct Quantiles {
  std::optional<double> p50, p99;
};

// The virtual GPU saves waves by copying them on this machine's CPU: a stop takes about a
// millisecond, whatever we do. Its requests are made long enough that this is not all we see.
Words requests_for(const Context& context) {
  Words words = {context.extent == Extent::full ? "300" : "100", "50"};
  if (context.virtual_gpu) {
    words.insert(words.end(), {"--layers", "64"});
  }
  return words;
}

Result<Quantiles> serve(const Context& context, const demo::Scheduler* scheduler, bool beside) {
  std::optional<demo::Child> trainer;
  if (beside) {
    trainer.emplace(TRY(context.launcher.trainer({scheduler, "trainer", {}})));
  }
  demo::Child server = TRY(context.launcher.server({scheduler, "server", requests_for(context)}));
  const demo::Serving serving = trainer ? TRY(context.launcher.served(server, {&*trainer}))
                                        : TRY(context.launcher.served(server));
  const std::vector<double> all = latencies_ms(serving);
  return Quantiles{demo::quantile(all, 0.5), demo::quantile(all, 0.99)};
}

// Of the repeats; unknown if one of them is.
struct Ratios {
  std::vector<std::optional<double>> all;

  std::optional<double> median() const {
    std::vector<double> known;
    for (const auto& each : all) {
      if (!each) {
        return std::nullopt;
      }
      known.push_back(*each);
    }
    return report::median(std::move(known));
  }
};

}  // namespace

Result<Outcome> run_beside(const Context& context) {
  Ratios p50, p99, noise_p50, noise_p99;
  const demo::Scheduler scheduler = TRY(context.launcher.daemon());
  for (int i = 0; i < kRepeats; ++i) {
    const Quantiles alone = TRY(serve(context, nullptr, false));
    const Quantiles beside = TRY(serve(context, &scheduler, true));
    const Quantiles again = TRY(serve(context, nullptr, false));
    // Against the mean of the runs before and after: what drifts, drifts out.
    p50.all.push_back(report::ratio(beside.p50, mean(alone.p50, again.p50)));
    p99.all.push_back(report::ratio(beside.p99, mean(alone.p99, again.p99)));
    noise_p50.all.push_back(apart(alone.p50, again.p50));
    noise_p99.all.push_back(apart(alone.p99, again.p99));
  }
  const Quantiles alone = TRY(serve(context, nullptr, false));
  const Quantiles without = TRY(serve(context, nullptr, true));

  Outcome outcome;
  const auto add = [&](const char* what, double limit, const Ratios& ratios, const Ratios& noises,
                       std::optional<double> Quantiles::*q) {
    auto criterion = at_most("beside", what, limit, "x", ratios.median());
    criterion.noise = noises.median();
    criterion.limit = std::max(limit, criterion.noise.value_or(0));
    criterion.note = fmt::format("without gpreempt {}; alone {}",
                                 report::format_factor(report::ratio(without.*q, alone.*q)),
                                 report::format_ms(alone.*q));
    outcome.criteria.push_back(std::move(criterion));
  };
  add("online p50 beside offline, over alone", kP50Limit, p50, noise_p50, &Quantiles::p50);
  add("online p99 beside offline, over alone", kP99Limit, p99, noise_p99, &Quantiles::p99);
  return outcome;
}

}  // namespace gp::bench
