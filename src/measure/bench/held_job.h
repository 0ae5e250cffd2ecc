// A client that stops a job by hand, again and again, and how long that takes.
#pragma once

#include <chrono>
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
  // `hold`: for how long at most a stop lasts if nobody ends it.
  static Result<HeldJob> of(const demo::Scheduler& scheduler, const demo::Waiter& waiter,
                            demo::Child& program,
                            std::chrono::nanoseconds hold = std::chrono::minutes(1));

  // Returns when all its queues are stopped; microseconds as a client sees it.
  Result<double> stop();
  // Returns when they run again. What the daemon and the driver took is in the job's view.
  Status start();
  Result<JobView> view() const;

 private:
  HeldJob(const demo::Scheduler& scheduler, const demo::Waiter& waiter, demo::Child& program,
          wire::Client client, std::chrono::nanoseconds hold)
      : scheduler_(scheduler),
        waiter_(waiter),
        program_(program),
        client_(std::move(client)),
        hold_(hold) {}

  const demo::Scheduler& scheduler_;
  const demo::Waiter& waiter_;
  demo::Child& program_;
  wire::Client client_;
  std::chrono::nanoseconds hold_;
};

}  // namespace gp::bench
