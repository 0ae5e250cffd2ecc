// A client that stops a job by hand, again and again, and how long that takes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/daemon_view.h"
#include "control/client.h"
#include "demo/child.h"
#include "demo/scheduler.h"
#include "demo/stage.h"

namespace gp::bench {

class HeldJob {
 public:
  // `pid`: a process of the job.
  static Result<HeldJob> of(const demo::Scheduler& scheduler, const demo::Stage& stage,
                            demo::Child& program);

  // Returns when all its queues are stopped; microseconds as a client sees it.
  Result<double> stop();
  // Returns when they run again. What the daemon and the driver took is in the job's view.
  Status start();
  Result<JobView> view() const;

 private:
  HeldJob(const demo::Scheduler& scheduler, const demo::Stage& stage, demo::Child& program,
          control::Client client)
      : scheduler_(scheduler), stage_(stage), program_(program), client_(std::move(client)) {}

  const demo::Scheduler& scheduler_;
  const demo::Stage& stage_;
  demo::Child& program_;
  control::Client client_;
};

}  // namespace gp::bench
