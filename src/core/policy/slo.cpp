// `slo`: an online job declares a latency target; offline work is stopped only when the forecast
// says that the target would be missed otherwise.
//
// The forecast is careful: whatever the online job got done while it shared the GPU counts for
// nothing, so that after a stop it needs its usual time once more, times a margin. The last moment
// to stop is therefore
//
//   busy_since + target - stop - margin * burst
//
// If the work is done before, nobody was stopped. A job without a target, or whose usual time is
// not known yet, is served as by `strict`.
#include "policy/rules.h"

namespace gp::policy {
namespace {

u64 last_moment_ns(const Parameters& parameters, const JobView& claimant, const JobView& victim) {
  if (!claimant.latency_target_ns || !claimant.burst_ns) {
    return 0;
  }
  const double needed = static_cast<double>(victim.stop_ns.value_or(0)) +
                        parameters.slo_margin * static_cast<double>(*claimant.burst_ns);
  const double spare = static_cast<double>(*claimant.latency_target_ns) - needed;
  return spare <= 0 ? 0 : later(claimant.busy_since_ns, static_cast<u64>(spare));
}

Wish slo_wish(const View& view, const Parameters& parameters, const JobView& claimant,
              const JobView& victim) {
  const Wish wish = claim(view, parameters, claimant, victim);
  if (!wish.stop || is_down(victim)) {
    return wish;
  }
  const u64 last_moment = last_moment_ns(parameters, claimant, victim);
  return view.now_ns < last_moment ? Wish{false, last_moment} : wish;
}

}  // namespace

Decision slo(const View& view, const Parameters& parameters) {
  Decision decision;
  for (const JobView& job : view.jobs) {
    Wish wish;
    if (may_be_stopped(job, parameters)) {
      for (const JobView& claimant : view.jobs) {
        if (claimant.work_class == WorkClass::online && may_stop(claimant, job)) {
          wish = either(wish, slo_wish(view, parameters, claimant, job));
        }
      }
      wish = settled(view, parameters, job, wish);
    }
    apply(view, job, wish, decision);
  }
  return decision;
}

}  // namespace gp::policy
