// The XCCs of a GPU (four on gfx942, one elsewhere) run a queue together: each has the queue's ring
// and a save area of its own.
#include "firmware.h"
#include "peer.h"
#include "preempt.h"

namespace {

// 0 if the queue is not mapped.
uint32_t xccs_that_run(int pid, int queue, unsigned gpu) {
  const uint32_t doorbell = status(gpu).find(pid, queue)->doorbell_off;
  const FirmwareState state = firmware_state().at(gpu);
  auto found = state.mapped.find(doorbell);
  return found == state.mapped.end() ? 0 : found->second.xccs;
}

}  // namespace

TEST(a_queue_stops_and_starts_on_all_xccs) {
  Peer peer;
  Lease lease;
  for (unsigned gpu : {0u, 1u}) {
    int held = peer.create_queue(gpu, 7), other = peer.create_queue(gpu, 7);
    CHECK_EQ(xccs_that_run(peer.pid(), held, gpu), gpus()[gpu].xccs);
    CHECK_EQ(hold(self(), lease, entry(peer.pid(), held)), 0);
    CHECK_EQ(xccs_that_run(peer.pid(), held, gpu), 0u);
    CHECK_EQ(xccs_that_run(peer.pid(), other, gpu), gpus()[gpu].xccs);
    CHECK_EQ(release(self(), lease, entry(peer.pid(), held)), 0);
    CHECK_EQ(xccs_that_run(peer.pid(), held, gpu), gpus()[gpu].xccs);
  }
}

TEST(a_queue_that_starts_held_starts_on_all_xccs_when_released) {
  Peer peer;
  Lease lease;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), 0);
  int queue = peer.create_queue(0, 7);
  CHECK_EQ(xccs_that_run(peer.pid(), queue, 0), 0u);
  lease.close_now();
  CHECK_EQ(xccs_that_run(peer.pid(), queue, 0), gpus()[0].xccs);
}
