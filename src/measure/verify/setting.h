// What every step of `gpreempt verify` is given: the GPU, how much to do, and where results go.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "demo/programs.h"
#include "demo/progress.h"
#include "demo/scheduler.h"
#include "demo/scratch_directory.h"
#include "demo/waiter.h"
#include "discover/snapshot.h"
#include "report/results.h"

namespace gp::verify {

using std::chrono::milliseconds;

// How much is done.
struct Extent {
  unsigned stops = 1000;  // per mechanism and number of queues
  unsigned queues = 32, processes = 8;
  milliseconds phase = std::chrono::seconds(60);  // of online beside offline, each
  std::optional<milliseconds> soak = {};
  std::vector<std::string> steps = {};  // only these; empty: all

  static Extent full() { return {}; }
  static Extent quick() { return {60, 32, 8, std::chrono::seconds(8), {}, {}}; }
  // For tests, and for whoever wants to see it at work: so many stops.
  static Extent of_rounds(unsigned rounds) { return {rounds, 4, 2, milliseconds(800), {}, {}}; }
};

// So many groups of a kernel; how many rounds it makes in a millisecond, and the ticks of the GPU's
// clock in one, as gpreempt-load measured them.
struct KernelShape {
  std::string kernel = "small";
  unsigned groups = 1;
  auto operator<=>(const KernelShape&) const = default;
};
struct Rate {
  double rounds_per_ms = 0, ticks_per_ms = 0;
};

// Online and offline work without the other, with which both together are compared.
struct Alone {
  std::optional<double> request_ms, request_p99_ms;  // p50; p99
  std::optional<double> offline_kernels_per_s;
};

struct Setting {
  const demo::Programs& programs;
  const demo::ScratchDirectory& scratch;
  const demo::Waiter& waiter;
  demo::Progress& progress;
  bool virtual_gpu = false;
  Extent extent;
  std::vector<discover::Node> nodes;  // all GPUs of this machine
  discover::Node node;                // the one that is looked at
  std::string mark;                   // on the command line of our programs, and of nobody else's
  bool share = false;                 // GPUs that others use are used all the same

  // What is found out by the first step, for those after it.
  std::map<KernelShape, Rate> rates = {};
  unsigned compute_units = 0;
  double fill_gb_per_s = 0;  // of its memory; 0: not known
  std::string runtime = {};  // "HSA 1.15 (/opt/rocm/lib/libhsa-runtime64.so.1)"
  // Mechanisms of level 3 that have stopped running kernels here, and exactly: the best first.
  std::vector<std::string> working = {};
  bool mechanisms_tried = false;          // if none is working then, there is none
  std::vector<std::string> inexact = {};  // those that have stopped kernels, and wrongly
  std::optional<Alone> alone = {};
  std::string queue_dump = {};  // the driver's lists while our programs ran
};

// Every stop lasts at most so long, whatever happens to us.
inline constexpr std::chrono::seconds kLease{5};
// So everything runs again after that, whoever has died; and a program is waited for so long.
inline constexpr double kRunsAgainS = std::chrono::duration<double>(kLease).count() + 1;
inline constexpr auto kRunsAgainAtMost = 3 * kLease;

// The daemon's classes: programs with our mark are what we say, all others are left alone. `extra`:
// further lines of its configuration, before its tables.
std::string daemon_settings(const Setting& setting, const std::string& extra);
// With the daemon's own choice of mechanisms, but for those that have lost results here.
Result<demo::Scheduler> start_daemon(const Setting& setting);
std::string exact_mechanisms(const Setting& setting);  // a line; empty: it may use all
// One that may use this mechanism alone.
Result<demo::Scheduler> start_daemon_with(const Setting& setting, const std::string& mechanism);

// Streams of one program have the classes that it gives them only where no rule is enforced. So
// this daemon leaves others alone in another way: it does not look for them, and its mechanisms
// work inside programs alone, through agents that have come to its socket.
std::string settings_for_streams(const std::vector<std::string>& mechanisms);
Result<demo::Scheduler> start_daemon_for_streams(const Setting& setting,
                                                 const std::vector<std::string>& mechanisms);
// Those that stop some queues of a program and have not lost anything, the best first.
std::vector<std::string> mechanisms_for_streams(const Setting& setting);

}  // namespace gp::verify
