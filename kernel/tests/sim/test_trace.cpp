// Trace events: who was stopped by whom, and how long it took.
#include <sys/mount.h>

#include <fstream>

#include "peer.h"
#include "preempt.h"

namespace {

const std::string tracing = "/sys/kernel/tracing/";

void write_to(const std::string& file, const char* text) {
  std::ofstream out(tracing + file);
  CHECK(static_cast<bool>(out << text << std::flush));
}

// The events of amdkfd's preemption within the scope.
class Trace {
 public:
  Trace() {
    CHECK(mount("none", tracing.c_str(), "tracefs", 0, nullptr) == 0 || errno == EBUSY);
    write_to("trace", "");  // is emptied by that
    // Names of programs would be learnt from the scheduler, whose code is patched for that while it
    // runs. Emulated CPUs have been seen not to survive it.
    write_to("options/record-cmd", "0");
    write_to("events/kfd_preempt/enable", "1");
  }
  ~Trace() { std::ofstream(tracing + "events/kfd_preempt/enable") << "0"; }

  // How many of them there were so far.
  unsigned count(const std::string& event) const {
    std::ifstream file(tracing + "trace");
    unsigned found = 0;
    for (std::string line; std::getline(file, line);) found += line.find(event) != line.npos;
    return found;
  }
};

std::string about(unsigned gpu, const Peer& peer, int queue) {
  return "gpu=" + std::to_string(gpus()[gpu].id) + " owner=" + std::to_string(getpid()) +
         " pid=" + std::to_string(peer.pid()) + " queue=" + std::to_string(queue) + " kind=stop";
}

}  // namespace

TEST(holds_and_releases_are_traced_with_their_status) {
  Peer peer;
  Lease lease;
  const int queue = peer.create_queue(0, 5);
  Trace trace;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(trace.count("kfd_hold: " + about(0, peer, queue) + " status=0"), 1u);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), KFD_PREEMPT_UNCHANGED);
  CHECK_EQ(trace.count("kfd_hold: " + about(0, peer, queue) + " status=1"), 1u);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(trace.count("kfd_release: " + about(0, peer, queue) + " status=0"), 1u);
  const std::string applied = "kfd_apply_holds: gpu=" + std::to_string(gpus()[0].id);
  CHECK_EQ(trace.count(applied), has_mes() ? 0u : 2u);
  CHECK_EQ(trace.count("duration_ns=0 "), 0u);
}

TEST(the_end_of_a_lease_is_traced_on_each_gpu) {
  Peer peer;
  Lease lease;
  CHECK(peer.create_queue(0, 5) >= 0 && peer.create_queue(1, 5) >= 0);
  Trace trace;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), 0);
  CHECK_EQ(trace.count("kfd_lease_end"), 0u);
  lease.close_now();
  for (unsigned gpu : {0u, 1u}) {
    CHECK_EQ(trace.count("kfd_hold: " + about(gpu, peer, -1) + " status=0"), 1u);
    CHECK_EQ(trace.count("kfd_lease_end: gpu=" + std::to_string(gpus()[gpu].id) +
                         " owner=" + std::to_string(getpid()) + " holds=1 status=0"),
             1u);
  }
}
