// The phases of the demo: online alone, offline alone, both without and both with gpreempt. Each
// call runs the programs of a phase once, for one round, and says what they measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/load.h"
#include "demo/programs.h"
#include "demo/scheduler.h"
#include "demo/scratch_directory.h"
#include "demo/waiter.h"
#include "demo/workload_results.h"
#include "report/results.h"

namespace gp::demo {

using report::kBothWith, report::kBothWithout, report::kOfflineAlone, report::kOnlineAlone;

// What the programs of a phase have left.
struct Measured {
  std::optional<Serving> serving;
  std::optional<Training> training;
  u64 preemptions = 0;
  std::string trace;  // the daemon's
};

class PhaseRunner {
 public:
  PhaseRunner(const Programs& programs, const ScratchDirectory& scratch, const Load& load,
              const Waiter& waiter)
      : programs_(programs), scratch_(scratch), load_(load), waiter_(waiter) {}

  Result<Measured> online_alone() const;
  // `longer`: than a round.
  Result<Measured> offline_alone(std::chrono::milliseconds longer) const;
  // Without a scheduler the two meet on the GPU as they would anywhere.
  Result<Measured> both(const Scheduler* scheduler) const;

 private:
  Result<Child> start_trainer(const Scheduler* scheduler) const;
  // A llama-server is ready when this returns.
  Result<Child> start_server(const Scheduler* scheduler, const std::vector<Child*>& beside) const;
  Result<Child> start_llama_server(const Scheduler* scheduler,
                                   const std::vector<Child*>& beside) const;
  // The words of a program, after those that put it under the scheduler.
  std::vector<std::string> under(const Scheduler* scheduler, const char* work_class,
                                 const std::string& job, std::vector<std::string> words) const;
  Command command(const std::string& name, std::vector<std::string> words) const;
  Result<Serving> serve(Child& server, const std::vector<Child*>& beside) const;
  Result<Training> end_training(Child& trainer) const;
  std::string job() const;

  const Programs& programs_;
  const ScratchDirectory& scratch_;
  const Load& load_;
  const Waiter& waiter_;
};

// A round of the phase as reports want it. Times count from its start, the server's if there is
// one. Results must equal those of what ran alone, as far as that has been measured.
struct Undisturbed {
  std::optional<Training> training;
  std::optional<Serving> serving;
};
Result<report::Phase> phase_of(const std::string& name, const Measured& measured,
                               const Undisturbed& undisturbed);

}  // namespace gp::demo
