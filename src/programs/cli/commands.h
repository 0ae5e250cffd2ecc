// The commands of `gpreempt`, each from its parsed options to its exit code.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "discover/discover.h"
#include "mechanism/controller.h"

namespace gp::cli {

struct QueuesOptions {
  discover::Filter filter;
  std::optional<std::pair<pid_t, u32>> exists;  // look for this one only
  bool watch = false;
  bool json = false;
  std::string sysfs, debugfs;  // a saved copy; both empty: the running system
};
int queues(const QueuesOptions& options);

struct SuspendOptions {
  pid_t pid = 0;
  std::vector<u32> queue_ids;  // empty: all
  std::chrono::nanoseconds duration{};
  mechanism::LeaseOptions lease;  // its deadline is set when the stop begins
};
// Holds the lease itself: returns when it has ended.
int suspend(const SuspendOptions& options);

// Ends what `suspend` of this user holds: on that process, or all of it.
int resume(std::optional<pid_t> pid);

int doctor(std::optional<pid_t> pid, bool json);

// Replaces this process by the command, with the agent in it. Returns only if that fails.
struct RunOptions {
  std::optional<WorkClass> work_class;
  bool streams = false;  // HIP streams have classes, by their priorities
  std::string tag, job;
  std::optional<u32> priority;
  std::string socket;  // empty: the usual one
  std::vector<std::string> command;
};
int run(RunOptions options);

// What container runtimes have to know, as a file of theirs.
struct CdiOptions {
  std::string output;  // empty or "-": standard output
  std::string socket;  // of the daemon, on the host; empty: the usual one
};
int cdi(const CdiOptions& options);

// Two workloads share a GPU, a virtual one if there is none, without and with gpreempt.
struct DemoOptions {
  std::string output = "gpreempt-demo";  // a directory for results.json and report.html
  std::string json;                      // a file for the phases; empty: none
  std::string socket;                    // of the daemon; empty: the usual one, or one of its own
  std::chrono::milliseconds duration = std::chrono::seconds(15);  // of each phase, in all rounds
  unsigned rounds = 3;
  bool virtual_gpu = false;  // even if there is a GPU
  bool llm = false;          // the online program is a llama-server:
  std::string llama_server;  // its path; empty: the one in PATH
  std::string model;         // a GGUF file; empty: a small one is made
};
int demo(const DemoOptions& options);

// Scenarios with pass criteria.
struct BenchOptions {
  std::vector<std::string> scenarios;  // empty: all
  bool list = false;
  bool full = false;                                  // their long forms
  std::optional<std::chrono::milliseconds> duration;  // of each one's main part
  std::string output = "gpreempt-bench";              // a directory for the results
  std::string json;                                   // a file for the criteria; empty: none
  bool virtual_gpu = false;                           // even if there is a GPU
  std::string llama_server;                           // empty: the one in PATH
};
int bench(const BenchOptions& options);

// Does gpreempt work on this machine?
struct VerifyOptions {
  unsigned gpu = 0;          // of those that the driver lists
  bool yes = false;          // though others use the GPU
  bool quick = false;        // two minutes
  bool anonymous = false;    // no names of host and user
  bool virtual_gpu = false;  // even if there is a GPU
  std::string container;     // one that runs, in which to do it; empty: here
  std::string output;        // a directory for the results; empty: named by host and date
  std::optional<std::chrono::milliseconds> soak;
  std::optional<unsigned> rounds;  // so few stops: to see it at work
  std::vector<std::string> steps;  // only these; empty: all
};
int verify(VerifyOptions options);

// What the daemon knows and does.
int scheduler_status(const std::string& socket, bool json);
int check_config(const std::string& path);
// Another class for a process that runs.
struct ClassOptions {
  pid_t pid = 0;
  WorkClass work_class = WorkClass::normal;
  std::string socket;
};
int set_class(const ClassOptions& options);

// The daemon's last events: a file for ui.perfetto.dev, or JSON.
struct TraceOptions {
  std::string socket;
  std::string output;  // empty: the usual place; "-": standard output
  bool json = false;
};
int trace(const TraceOptions& options);

// Makes the page of the results in a directory; `output` empty: into that directory. `picture`: a
// file for the same in one picture, or empty.
int report_page(const std::string& directory, const std::string& output,
                const std::string& picture);
// The criteria of two runs side by side; each a directory or an archive of verify.
int compare_results(const std::string& first, const std::string& second);

// What bare `gpreempt` says.
int status();

int version();

}  // namespace gp::cli
