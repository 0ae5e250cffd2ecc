// Starts what a scenario needs, the workloads of examples/ and a daemon of its own, and waits for
// it.
#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/mechanisms.h"
#include "demo/child.h"
#include "demo/programs.h"
#include "demo/scheduler.h"
#include "demo/scratch_directory.h"
#include "demo/waiter.h"
#include "demo/workload_results.h"

namespace gp::bench {

using Words = std::vector<std::string>;

// The server's arguments for requests at this interval, for so long.
inline Words requests_every(std::chrono::milliseconds interval,
                            std::chrono::milliseconds duration) {
  return {std::to_string(duration / interval), std::to_string(interval.count())};
}

// The trainer's arguments for short steps on so many streams. As many queues as streams need
// GPU_MAX_HW_QUEUES: the runtime shares out four unless told otherwise.
inline Words trainer_with(unsigned streams) {
  const unsigned batch = (64 + streams - 1) / streams * streams;  // a share for each stream
  return {"--streams", std::to_string(streams),
          "--batch",   std::to_string(batch),
          "--inputs",  "128",
          "--hidden",  "128"};
}

// The trainer's arguments for kernels of a single work-group: on the virtual GPU one core stays
// free for those who are to stop it, as on a machine whose GPU is not emulated.
inline Words one_work_group() {
  return {"--streams", "1",        "--batch", "16",        "--inputs",
          "4096",      "--hidden", "16",      "--outputs", "16"};
}

// A program to be started.
struct Workload {
  const demo::Scheduler* scheduler = nullptr;  // none: the programs meet as they would anywhere
  std::string name;                            // also its job
  Words arguments;
  std::map<std::string, std::string> environment = {};
  // False: its agent does not reach the daemon, which has to find it and stop it from outside.
  bool agent = true;
  // Without a scheduler: all the same an agent in it, which lets debuggers stop it. The runtime
  // does so by itself from ROCr 6.0 on.
  bool debuggable = false;
  const char* work_class = nullptr;  // another than such a program has in most scenarios
};

class Launcher {
 public:
  Launcher(const demo::Programs& programs, const demo::ScratchDirectory& scratch,
           const demo::Waiter& waiter, bool virtual_gpu)
      : programs_(programs), scratch_(scratch), waiter_(waiter), virtual_gpu_(virtual_gpu) {}

  // With these lines as its configuration, and on a virtual GPU without `kernel`: what a scenario
  // measures is then what a stock driver gives, as on most machines.
  Result<demo::Scheduler> daemon(const std::string& settings = "") const;
  // One that may use this mechanism alone.
  Result<demo::Scheduler> daemon_with(const MeasuredMechanism& mechanism) const;

  // An offline job that goes on until it is ended. Returns when it has made its first step.
  Result<demo::Child> trainer(const Workload& workload) const;
  // An online job that ends by itself.
  Result<demo::Child> server(const Workload& workload) const;
  // An offline one that does the same. Returns when it is ready for its first request.
  Result<demo::Child> offline_server(const Workload& workload) const;

  // Waits for the server's end while the others run on.
  Result<demo::Serving> served(demo::Child& server,
                               std::initializer_list<demo::Child*> others = {}) const;
  Result<demo::Training> trained(demo::Child& trainer) const;
  // Ends a server before it has answered all it was told to.
  Result<demo::Serving> ended(demo::Child& server) const;
  Status wait(std::chrono::milliseconds time, std::initializer_list<demo::Child*> running) const;

  const demo::Waiter& waiter() const { return waiter_; }
  const demo::Programs& programs() const { return programs_; }
  const demo::ScratchDirectory& scratch() const { return scratch_; }

 private:
  Result<demo::Child> start(const std::string& program, const char* work_class,
                            const Workload& workload) const;

  const demo::Programs& programs_;
  const demo::ScratchDirectory& scratch_;
  const demo::Waiter& waiter_;
  const bool virtual_gpu_;
};

}  // namespace gp::bench
