// The XCCs of a GPU (four on gfx942, one elsewhere) run a queue together: each has the queue's ring
// and a save area of its own.
#include "firmware.h"
#include "peer.h"
#include "preempt.h"

namespace {

// 0 if the queue is not mapped.
uint32_t xccs_that_run(int pid, int queue, unsigned gpu) {
  const uint32_t doorbell = status(gpu).find(pid, queue)->doorbell_off;
  const FirmwareState state = firmware_state(gpu);
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

// The firmware gives up on a queue that does not save its waves in time, and the driver resets that
// queue: its work is lost, and whoever asked for the stop is told.
TEST(a_queue_that_is_reset_because_it_did_not_stop_is_an_error_and_stays_out) {
  needs_run_lists();
  Peer peer, online;
  Lease lease;
  int stuck = peer.create_queue(0, 7), sibling = peer.create_queue(0, 7);
  online.create_queue(0, 15);
  FirmwareCount count;
  CHECK_EQ(write_control("stuck0", std::to_string(status().find(peer.pid(), stuck)->doorbell_off)),
           0);
  std::vector<kfd_preempt_entry> both = {entry(peer.pid(), stuck), entry(peer.pid(), sibling)};
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, both), 1);
  CHECK_EQ(both[0].status, -ENOTRECOVERABLE);
  CHECK_EQ(both[1].status, 0);
  CHECK_EQ(count.since().reset, 0u);
  CHECK_EQ(status().find(peer.pid(), stuck)->flags,
           unsigned{KFD_QUEUE_STATUS_HELD | KFD_QUEUE_STATUS_RESET});
  lease.close_now();
  CHECK(!runs(peer.pid(), stuck));
  CHECK(runs(peer.pid(), sibling));
  CHECK_EQ(peer.destroy_queue(stuck), 0);
}
