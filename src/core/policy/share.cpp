// `share`: as strict, but offline work keeps at least the part `share` of the time.
//
// A stop ends after (1 - share) of a period, and a job that was stopped for a time s runs for at
// least s * share / (1 - share) before it is stopped again. So of every stop and the run that
// follows it the run makes up at least `share`, whatever the online work does. A job that has run
// for long owes nothing and is stopped at once: only who keeps the GPU busy pays.
#include "policy/rules.h"

namespace gp::policy {
namespace {

Wish share_wish(const View& view, const Parameters& parameters, const JobView& job) {
  const Wish wish = strict_wish(view, parameters, job);
  if (!wish.stop || parameters.share <= 0) {
    return wish;
  }
  const auto part_of = [](u64 time_ns, double factor) {
    return static_cast<u64>(static_cast<double>(time_ns) * factor);
  };
  if (is_down(job)) {
    const u64 slice =
        later(job.state_since_ns, part_of(parameters.slice_period_ns, 1 - parameters.share));
    return view.now_ns < slice ? Wish{true, sooner(wish.again_ns, slice)} : Wish{};
  }
  const double owed_per_stopped = parameters.share / (1 - parameters.share);
  const u64 paid = later(job.state_since_ns, part_of(job.previous_stop_ns, owed_per_stopped));
  return view.now_ns < paid ? Wish{false, paid} : wish;
}

}  // namespace

Decision share(const View& view, const Parameters& parameters) {
  Decision decision;
  for (const JobView& job : view.jobs) {
    Wish wish;
    if (may_be_stopped(job, parameters)) {
      wish = settled(view, parameters, job, share_wish(view, parameters, job));
    }
    apply(view, job, wish, decision);
  }
  return decision;
}

}  // namespace gp::policy
