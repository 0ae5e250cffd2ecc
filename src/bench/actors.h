// The programs on a scenario's stage: the workloads of examples/ and a daemon of its own.
#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/child.h"
#include "demo/places.h"
#include "demo/scheduler.h"
#include "demo/scratch_directory.h"
#include "demo/stage.h"
#include "demo/workload_results.h"

namespace gp::bench {

using Words = std::vector<std::string>;

// The server's arguments for requests at this interval, for so long.
inline Words requests_every(std::chrono::milliseconds interval,
                            std::chrono::milliseconds duration) {
  return {std::to_string(duration / interval), std::to_string(interval.count())};
}

class Actors {
 public:
  Actors(const demo::Places& places, const demo::ScratchDirectory& scratch,
         const demo::Stage& stage)
      : places_(places), scratch_(scratch), stage_(stage) {}

  // With these lines as its whole configuration.
  Result<demo::Scheduler> daemon(const std::string& settings = "") const {
    return demo::Scheduler::start(places_, scratch_, stage_, settings);
  }

  struct Casting {
    const demo::Scheduler* scheduler = nullptr;  // none: the programs meet as they would anywhere
    std::string name;                            // also its job
    Words arguments;
    std::map<std::string, std::string> environment = {};
    // False: its agent does not reach the daemon, which has to find it and stop it from outside.
    bool agent = true;
  };
  // An offline job that goes on until it is ended. Returns when it has made its first step.
  Result<demo::Child> trainer(const Casting& casting) const;
  // An online job that ends by itself.
  Result<demo::Child> server(const Casting& casting) const;

  // Waits for the server's end while the others run on.
  Result<demo::Serving> served(demo::Child& server,
                               std::initializer_list<demo::Child*> others = {}) const;
  Result<demo::Training> trained(demo::Child& trainer) const;
  Status wait(std::chrono::milliseconds time, std::initializer_list<demo::Child*> running) const;

  const demo::Stage& stage() const { return stage_; }

 private:
  Result<demo::Child> start(const std::string& program, const char* work_class,
                            const Casting& casting) const;

  const demo::Places& places_;
  const demo::ScratchDirectory& scratch_;
  const demo::Stage& stage_;
};

}  // namespace gp::bench
