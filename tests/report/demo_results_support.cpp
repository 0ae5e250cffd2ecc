#include <cmath>
#include <random>

#include "report/results_support.h"

namespace gp::report {
namespace {

constexpr double kSeconds = 15;

Phase phase_named(const char* name, std::optional<double> steps_per_s) {
  Phase phase;
  phase.name = name;
  phase.offline_steps_per_s = steps_per_s;
  phase.duration_s = kSeconds;
  if (steps_per_s) {
    phase.checksum_ok = true;
  }
  return phase;
}

// Requests at fixed intervals, each as long as `latency_ms` says.
template <class Latency>
void serve(Phase& phase, double per_second, Latency latency_ms) {
  for (double arrival_ms = 40; arrival_ms < kSeconds * 1000; arrival_ms += 1000 / per_second) {
    phase.online_arrival_ms.push_back(arrival_ms);
    phase.online_latency_ms.push_back(latency_ms());
  }
}

// What the daemon's trace says of requests that each stop offline work for their time.
void preempt(Phase& phase) {
  u64 offline_from = 0;
  for (std::size_t i = 0; i < phase.online_arrival_ms.size(); ++i) {
    const auto arrival = static_cast<u64>(phase.online_arrival_ms[i] * 1000);
    const u64 done = arrival + static_cast<u64>(phase.online_latency_ms[i] * 1000);
    const u64 stopped = arrival + 900, started = done + 2600;
    phase.timeline.push_back({"online", "running", arrival + 120, done});
    phase.timeline.push_back({"scheduler", "stop", arrival + 180, stopped});
    phase.timeline.push_back({"scheduler", "start", done + 2000, started});
    phase.timeline.push_back({"offline", "running", offline_from, stopped});
    phase.timeline.push_back({"offline", "stopped", stopped, started});
    offline_from = started;
    ++phase.preemptions;
  }
  phase.timeline.push_back({"offline", "running", offline_from, static_cast<u64>(kSeconds * 1e6)});
}

std::vector<Round> three_rounds(const Phase& phase) {
  std::vector<Round> rounds(3);
  double factor = 0.96;
  for (Round& round : rounds) {
    round.requests = phase.online_latency_ms.size() / rounds.size();
    round.duration_s = kSeconds / static_cast<double>(rounds.size());
    if (phase.offline_steps_per_s) {
      round.offline_steps_per_s = factor * *phase.offline_steps_per_s;
    }
    factor += 0.04;
  }
  return rounds;
}

std::vector<Criterion> criteria() {
  return {
      {"demo", "Online p99 beside offline, against alone", "x", 2, false, 1.62, 1.08, ""},
      {"demo", "Offline's result is bit-identical", "runs", 1, true, 1, {}, ""},
      {"throughput", "Offline loss beyond online's own GPU time", "%", 5, false, 7.3, 1.9,
       "two cores share the emulator and both programs"},
      {"latency", "Stop of 10 queues, p99", "ms", 5, false, 1.9, {}, ""},
      {"schemes", "High/low priority latency ratio, level 3", "x", 3, true, 41.8, 1.3, ""},
      {"stability",
       "Growth of resident memory in an hour",
       "MiB",
       8,
       false,
       {},
       {},
       "the short form does not run for an hour"},
  };
}

std::vector<Scheme> schemes() {
  return {
      {"gate", 1, 10, 38200, 61000, 90, 210, 44.1, 71.2, 3.31, ""},
      {"update-queue", 3, 10, 8100, 11900, 7900, 12100, 15.2, 22.4, 3.02, ""},
      {"self-debug", 3, 10, 840, 1900, 610, 1200, 6.4, 9.8, 3.24, ""},
      {"debugger", 3, 10, 910, 2150, 660, 1350, 6.6, 10.4, 3.22, ""},
      {"criu", 3, 10, 1450, 3900, 1320, 3300, 7.4, 13.9, 3.16, ""},
      {"kernel", 3, 10, {}, {}, {}, {}, {}, {}, {}, "the driver lacks the patched ioctls"},
  };
}

Batching batching() {
  return {5,
          10,
          {{"debugger", kCallPerQueue, 10, 6400, 9100, 6100, 9000, 10, 10, ""},
           {"debugger", kCallPerProcess, 5, 3200, 4800, 3100, 4500, 5, 5, ""},
           {"kernel", kCallPerQueue, 10, 6000, 8800, 5900, 8700, 10, 10, ""},
           {"kernel", kCallPerProcess, 5, 2000, 3600, 1900, 3300, 5, 5, ""},
           {"kernel", kOneCall, 1, 400, 900, 410, 800, 1, 1, ""}}};
}

Reservation reservation() { return {24, 34, {{0, 30, 61, 1}, {2, 6, 9, 0.96}}, ""}; }

}  // namespace

Results demo_results() {
  std::mt19937 random(7);
  std::lognormal_distribution<double> usual(std::log(5.1), 0.12), beside(std::log(6.6), 0.17);
  std::uniform_real_distribution<double> behind(20, 190);
  Results results;
  results.environment = {true,
                         "virtual GPU (gfx90a, 8 CUs)",
                         "AMD EPYC 7R13 Processor",
                         2,
                         "6.1.0-28-amd64",
                         "5.2.3",
                         "0.1.0",
                         "2026-01-17T04:12:00Z",
                         "gpreempt demo --output gpreempt-demo"};
  Phase online = phase_named(kOnlineAlone, {});
  serve(online, 10, [&] { return usual(random); });
  const Phase offline = phase_named(kOfflineAlone, 3.52);
  Phase without = phase_named(kBothWithout, 3.38);
  serve(without, 10, [&] { return behind(random) + usual(random); });
  without.timeline.push_back({"offline", "running", 0, static_cast<u64>(kSeconds * 1e6)});
  Phase with = phase_named(kBothWith, 3.24);
  serve(with, 10, [&] { return beside(random); });
  preempt(with);
  results.phases = {online, offline, without, with};
  for (Phase& phase : results.phases) {
    phase.rounds = three_rounds(phase);
  }
  results.criteria = criteria();
  results.schemes = schemes();
  results.schemes.front().low_over_high = 1.6;
  results.batching = batching();
  results.reservation = reservation();
  results.lingers = {{kLearnt, 91, 120, 1, 0.97, false},
                     {"fixed at 2 ms", 105, 180, 6.5, 0.99, false},
                     {"fixed at 20 ms", 90, 118, 1, 0.93, true},
                     {kNeverOver, 88, 115, 0, std::nullopt, false}};
  return results;
}

}  // namespace gp::report
