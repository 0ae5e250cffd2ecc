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
  double p50 = 0, p99 = 0;
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
    trainer.emplace(TRY(context.actors.trainer({scheduler, "trainer", {}})));
  }
  demo::Child server = TRY(context.actors.server({scheduler, "server", requests_for(context)}));
  const demo::Serving serving = trainer ? TRY(context.actors.served(server, {&*trainer}))
                                        : TRY(context.actors.served(server));
  const std::vector<double> all = latencies_ms(serving);
  return Quantiles{demo::quantile(all, 0.5).value_or(0), demo::quantile(all, 0.99).value_or(0)};
}

double median(std::vector<double> values) {
  return demo::quantile(std::move(values), 0.5).value_or(0);
}

}  // namespace

Result<Outcome> run_beside(const Context& context) {
  std::vector<double> p50, p99, noise_p50, noise_p99;
  const demo::Scheduler scheduler = TRY(context.actors.daemon());
  for (int i = 0; i < kRepeats; ++i) {
    const Quantiles alone = TRY(serve(context, nullptr, false));
    const Quantiles beside = TRY(serve(context, &scheduler, true));
    const Quantiles again = TRY(serve(context, nullptr, false));
    // Against the mean of the runs before and after: what drifts, drifts out.
    p50.push_back(2 * beside.p50 / (alone.p50 + again.p50));
    p99.push_back(2 * beside.p99 / (alone.p99 + again.p99));
    noise_p50.push_back(apart(alone.p50, again.p50));
    noise_p99.push_back(apart(alone.p99, again.p99));
  }
  const Quantiles alone = TRY(serve(context, nullptr, false));
  const Quantiles without = TRY(serve(context, nullptr, true));

  Outcome outcome;
  const auto add = [&](const char* what, double limit, const std::vector<double>& ratios,
                       const std::vector<double>& noises, double ratio_without, double alone_ms) {
    auto criterion = at_most("beside", what, limit, "x", median(ratios));
    criterion.noise = median(noises);
    criterion.limit = std::max(limit, *criterion.noise);
    criterion.note =
        fmt::format("without gpreempt {:.1f}x; alone {:.2f} ms", ratio_without, alone_ms);
    outcome.criteria.push_back(std::move(criterion));
  };
  add("online p50 beside offline, over alone", kP50Limit, p50, noise_p50, without.p50 / alone.p50,
      alone.p50);
  add("online p99 beside offline, over alone", kP99Limit, p99, noise_p99, without.p99 / alone.p99,
      alone.p99);
  return outcome;
}

}  // namespace gp::bench
