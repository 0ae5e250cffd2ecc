// `strict`: online busy, offline stopped. After online went idle the stop lingers for about what
// stopping and starting again would cost, in case the next request is near.
#include "policy/rules.h"

namespace gp::policy {

Decision strict(const View& view, const Parameters& parameters) {
  Decision decision;
  for (const JobView& job : view.jobs) {
    Wish wish;
    if (may_be_stopped(job, parameters)) {
      wish = settled(view, parameters, job, strict_wish(view, parameters, job));
    }
    apply(view, job, wish, decision);
  }
  return decision;
}

}  // namespace gp::policy
