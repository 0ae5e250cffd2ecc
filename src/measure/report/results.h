// What a demo or a benchmark measured: the one form between those who measure and those who show.
// Kept as results.json in a directory of its own; the report (report.html) is made from it alone.
#pragma once

#include "libc/types.h"

#include <optional>
#include <string>
#include <vector>

namespace gp::report {

struct Environment {
  bool virtual_gpu = false;  // times are then those of an emulator, never of hardware
  std::string device;        // "virtual GPU (mi210, 8 CUs)", "AMD Instinct MI308X x 8"
  std::string cpu;
  u32 cores = 0;
  std::string kernel;
  std::string rocm;
  std::string gpreempt_version;
  std::string date;     // ISO 8601, UTC
  std::string command;  // that made these results
};

// What programs that are no part of the measurement took of the CPUs meanwhile.
struct OtherPrograms {
  double cpu_s = 0;  // of all CPUs together
  double elapsed_s = 0;
  u32 cpus = 0;                     // those that we may use
  std::optional<double> waiting_s;  // in which somebody waited for a CPU, one of ours perhaps (PSI)
};

// Something had the GPU, or was stopped, from one moment to another.
struct Span {
  std::string track;  // "online", "offline", "scheduler"
  std::string what;   // "running", "stopped", "request"
  u64 start_us = 0;   // from the start of the phase
  u64 end_us = 0;
};

// A part of a phase: the phases are measured by turns, round after round (phases.h).
struct Round {
  u64 requests = 0;       // so many of the phase's, after those of the rounds before
  double duration_s = 0;  // of the phase's, after the rounds before
  std::optional<double> offline_steps_per_s;
  std::optional<OtherPrograms> others = {};
};

// The phases of a demo.
inline constexpr char kOnlineAlone[] = "online-alone", kOfflineAlone[] = "offline-alone",
                      kBothWithout[] = "both-without", kBothWith[] = "both-with";

// A language model's answers come token by token.
struct Tokens {
  std::vector<double> first_ms;     // of each request, from its intended arrival
  std::vector<double> next_ms;      // of each further token, from the one before
  std::optional<bool> texts_equal;  // the answers are those of the model alone
};

struct Phase {
  std::string name;
  std::vector<double> online_latency_ms;  // one per request, from its intended arrival
  std::vector<double> online_arrival_ms;  // from the start of the phase; as long as the latencies
  std::optional<double> offline_steps_per_s;  // the median of the rounds'
  u64 preemptions = 0;
  std::optional<bool> checksum_ok;  // offline's result equals that of an undisturbed run
  double duration_s = 0;
  std::vector<Span> timeline;
  std::vector<Round> rounds = {};  // empty: measured in one go
  std::optional<Tokens> tokens = {};
  std::optional<OtherPrograms> others = {};
};

// Why a criterion has no verdict; its note says more. Times of a virtual GPU are emulated where
// they are not judged; what is shown is for people to compare.
inline constexpr char kNotPossible[] = "not possible", kSkipped[] = "skipped",
                      kEmulated[] = "emulated", kShown[] = "shown";

// A number somebody asked for, and what was measured.
struct Criterion {
  std::string scenario;
  std::string what;  // "online p99 beside offline"
  std::string unit;  // "ms", "x", "%"
  double limit = 0;
  bool at_least = false;        // the value must be at least, not at most, the limit
  std::optional<double> value;  // empty: could not be measured; then it has not passed
  // How far two like runs were apart on this machine: by which factor if the unit is "x", else by
  // how much of the unit.
  std::optional<double> noise;
  std::string note;
  // Where it was disturbed most. Empty: not known, or what was missed is nothing that a busy
  // machine could cause.
  std::optional<OtherPrograms> others = {};
  std::optional<std::string> unjudged = {};  // one of those above; empty: judged
};

inline constexpr char kNoScheme[] = "none";

// One way to stop work, under the same load as the others; or kNoScheme, to compare them with.
struct Scheme {
  std::string mechanism;
  int level = 0;  // XSched's
  u32 queues = 0;
  std::optional<double> stop_p50_us, stop_p99_us;
  std::optional<double> start_p50_us, start_p99_us;
  std::optional<double> online_p50_ms, online_p99_ms;
  std::optional<double> offline_steps_per_s;
  std::string note;  // why it is not available, if it is not
  // Two like programs at once, together more than the GPU can do: p50 of the offline one's requests
  // over that of the online one's. 1: priority makes no difference.
  std::optional<double> low_over_high = {};
};

// One driver call is made for each queue, for each process, or for all of them.
inline constexpr char kCallPerQueue[] = "queue", kCallPerProcess[] = "process", kOneCall[] = "all";

// The same queues stopped and started by so many calls.
struct BatchWay {
  std::string mechanism;
  std::string call_for;  // kCallPerQueue and so on; empty if it could not be measured
  u32 calls = 0;         // to stop them, and as many to start them
  std::optional<double> stop_p50_us, stop_p99_us;
  std::optional<double> start_p50_us, start_p99_us;
  std::optional<u64> stop_unmaps, start_unmaps;  // at the device, if that counts
  std::string note;
};

struct Batching {
  u32 processes = 0;
  u32 queues = 0;  // of all processes together
  std::vector<BatchWay> ways;
};

// Online requests beside more queues than there are slots, of which some are kept for online.
struct ReservedRun {
  u32 reserved_slots = 0;
  std::optional<double> online_p50_ms, online_p99_ms;
  std::optional<double> slots_used;  // part of all slots, on average
};

struct Reservation {
  u32 slots = 0;
  u32 queues = 0;  // at most, those of the online program too
  std::vector<ReservedRun> runs;
  std::string note;  // why it could not be measured
};

// The same requests beside the same offline job, with stops that outlast online work by so much.
struct LingerRun {
  std::string linger;  // kLearnt, kNeverOver, or "fixed at 10 ms"
  std::optional<double> online_p50_ms, online_max_ms;
  std::optional<double> stops_per_request;
  // Of the time between requests, in which offline work could have run. 1: all of it.
  std::optional<double> offline_kept;
  bool best_fixed = false;  // with what is learnt is compared
};
inline constexpr char kLearnt[] = "learnt", kNeverOver[] = "never over";

struct Results {
  Environment environment;
  // Where somebody ended it ("in the step save"); empty: it ran to its end.
  std::optional<std::string> interrupted = {};
  std::vector<Phase> phases;
  std::vector<Criterion> criteria;
  std::vector<Scheme> schemes;
  std::optional<Batching> batching;
  std::optional<Reservation> reservation;
  std::vector<LingerRun> lingers;
};

}  // namespace gp::report
