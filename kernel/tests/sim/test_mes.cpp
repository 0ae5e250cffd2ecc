// GPUs with MES: one removal per queue that stops, one addition per queue that starts, and nobody
// else hears of it.
#include <memory>

#include "firmware.h"
#include "peer.h"
#include "preempt.h"

namespace {

void check_sent(const FirmwareCount& count, unsigned gpu, uint64_t added, uint64_t removed) {
  const FirmwarePackets sent = count.since(gpu);
  CHECK_EQ(sent.add, added);
  CHECK_EQ(sent.remove, removed);
  CHECK_EQ(sent.run_list + sent.unmap + sent.query + sent.write + sent.unknown, 0u);
}

// Three processes with two queues each on both GPUs.
struct Crowd {
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<kfd_preempt_entry> entries;
  Crowd() {
    for (int i = 0; i < 3; i++) {
      peers.push_back(std::make_unique<Peer>());
      for (unsigned gpu : {0u, 0u, 1u, 1u})
        entries.push_back(entry(peers.back()->pid(), peers.back()->create_queue(gpu, 5)));
    }
  }
};

}  // namespace

TEST(a_batch_tells_mes_once_per_queue_and_leaves_others_alone) {
  needs_mes();
  Crowd crowd;
  Peer online;
  int queue = online.create_queue(0, 15);
  Lease lease;
  FirmwareCount stop;
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, crowd.entries), 12);
  for (unsigned gpu : {0u, 1u}) check_sent(stop, gpu, 0, 6);
  CHECK(runs(online.pid(), queue));
  CHECK_EQ(status(0).args.active_queues, 1u);
  FirmwareCount start;
  CHECK_EQ(batch(AMDKFD_IOC_FAST_REMAP, lease, crowd.entries), 12);
  for (unsigned gpu : {0u, 1u}) check_sent(start, gpu, 6, 0);
  CHECK_EQ(status(1).args.active_queues, 6u);
}

TEST(the_end_of_a_lease_adds_each_queue_to_mes_once) {
  needs_mes();
  Crowd crowd;
  Lease lease;
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, crowd.entries), 12);
  FirmwareCount count;
  lease.close_now();
  for (unsigned gpu : {0u, 1u}) {
    check_sent(count, gpu, 6, 0);
    CHECK_EQ(status(gpu).args.held_queues, 0u);
  }
}

TEST(a_queue_that_is_held_twice_is_removed_from_mes_once) {
  needs_mes();
  Peer peer;
  Lease lease, other;
  int first = peer.create_queue(0, 5), second = peer.create_queue(0, 5);
  FirmwareCount stop;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), first)), 0);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), 0);
  CHECK_EQ(hold(self(), other, entry(peer.pid(), second)), 0);
  check_sent(stop, 0, 0, 2);
  FirmwareCount start;
  CHECK_EQ(release(self(), lease, entry(peer.pid(), all_queues)), 0);
  check_sent(start, 0, 1, 0);
  CHECK(runs(peer.pid(), first));
  CHECK(!runs(peer.pid(), second));
  other.close_now();
  check_sent(start, 0, 2, 0);
}

TEST(mes_never_hears_of_a_queue_that_starts_held_and_is_destroyed) {
  needs_mes();
  Peer peer;
  Lease lease;
  peer.create_queue(0, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), 0);
  FirmwareCount count;
  int later = peer.create_queue(0, 5);
  CHECK(!runs(peer.pid(), later));
  CHECK_EQ(peer.update_queue(later, 100, 9), 0);
  CHECK_EQ(evict(peer.pid()), 0);
  CHECK_EQ(restore(peer.pid()), 0);
  CHECK_EQ(peer.destroy_queue(later), 0);
  check_sent(count, 0, 0, 0);
}

TEST(mes_has_no_grace_period) {
  needs_mes();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  FirmwareCount count;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue), 0, KFD_PREEMPT_MAX_GRACE_PERIOD), 0);
  check_sent(count, 0, 0, 1);
}

TEST(mes_keeps_no_slots_free) {
  needs_mes();
  Lease lease;
  kfd_ioctl_slot_reservation_args args = {};
  args.lease_fd = lease;
  args.gpu_id = gpus()[0].id;
  args.reserved_slots = 1;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SET_SLOT_RESERVATION, &args), -EOPNOTSUPP);
  CHECK_EQ(status().args.reserved_slots, 0u);
}
