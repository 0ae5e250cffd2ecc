// A client that stops a job by hand, again and again, and how long that takes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/daemon_view.h"
#include "client/client.h"
#include "demo/child.h"
#include "demo/scheduler.h"
#include "demo/waiter.h"

namespace gp::bench {

class HeldJob {
 public:
  // `pid`: a process of the job.
  static Result<HeldJob> of(const demo::Scheduler& scheduler, const demo::Waiter& waiter,
                            demo::Child& program);

  // Returns when all its queues are stopped; microseconds as a client sees it.
  Result<double> stop();
  // Returns when they run again. What the daemon and the driver took is in the job's view.
  Status start();
  Result<JobView> view() const;

 private:
  HeldJob(const demo::Scheduler& scheduler, const demo::Waiter& waiter, demo::Child& program,
          wire::Client client)
      : scheduler_(scheduler), waiter_(waiter), program_(program), client_(std::move(client)) {}

  const demo::Scheduler& scheduler_;
  const demo::Waiter& waiter_;
  demo::Child& program_;
  wire::Client client_;
};

}  // namespace gp::bench
