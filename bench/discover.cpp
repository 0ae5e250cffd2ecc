// What it costs to know every queue: a snapshot of a large machine from a recording, without the
// system's own time, and the parsing of debugfs dumps as large as those of a server with eight
// MI308X. Prints one JSON object.
#include <cstdio>

#include "discover/hqds.h"
#include "discover/machine_support.h"
#include "discover/mqds.h"
#include "measure.h"

namespace {

using namespace gp;            // NOLINT(google-build-using-namespace)
using namespace gp::discover;  // NOLINT(google-build-using-namespace)

constexpr u32 kGpus = 8, kProcesses = 64, kQueues = 8;

MadeMachine large_machine() {
  MadeMachine machine;
  machine.gpus = kGpus;
  machine.xccs = 4;
  machine.sdma_engines = 8;
  machine.sdma_queues_per_engine = 8;
  for (u32 p = 0; p < kProcesses; ++p) {
    MadeProcess process{.pid = static_cast<pid_t>(1000 + p)};
    for (u32 q = 0; q < kQueues; ++q) {
      MadeQueue queue;
      queue.queue_id = q;
      queue.gpu = (p + q) % kGpus;
      queue.ring_base += u64{q} << 24;
      queue.created = 1000 + q;
      queue.mapped = p < 24;
      process.queues.push_back(queue);
    }
    machine.processes.push_back(process);
  }
  return machine;
}

template <typename F>
double median_ms(int repetitions, F work) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    times.push_back(1e3 * seconds_of(work));
  }
  return median(times);
}

// The compiler must not drop what is measured.
std::size_t found = 0;

}  // namespace

int main() {
  const MadeMachine machine = large_machine();
  const Recording recording = machine.recording();
  const std::string hqds = machine.hqds(), mqds = machine.mqds();
  const double sysfs_ms = median_ms(
      101, [&] { found += snapshot_of(recording, {}, {.debugfs = false}).processes.size(); });
  const double debugfs_ms =
      median_ms(21, [&] { found += snapshot_of(recording).processes.size(); });
  const double hqds_ms = median_ms(101, [&] { found += parse_hqds(hqds).nodes.size(); });
  const double mqds_ms = median_ms(21, [&] { found += parse_mqds(mqds).queues.size(); });
  std::fprintf(stderr, "hqds %zu bytes, mqds %zu bytes, %zu found\n", hqds.size(), mqds.size(),
               found);
  std::printf(
      "{\"discover_snapshot_ms\": %.4g, \"discover_snapshot_debugfs_ms\": %.4g, "
      "\"discover_hqds_ms\": %.4g, \"discover_mqds_ms\": %.4g}\n",
      sysfs_ms, debugfs_ms, hqds_ms, mqds_ms);
  return 0;
}
