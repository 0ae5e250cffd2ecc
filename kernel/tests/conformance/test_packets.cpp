// What a call costs: one unmap and one run list per GPU, whatever the number of queues.
#include <memory>

#include "peer.h"
#include "preempt.h"

namespace {

struct Crowd {  // three processes, two queues each on each GPU
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

void check_one_cycle(const PacketCount& count) {
  for (unsigned gpu : {0u, 1u}) {
    CHECK_EQ(count.since(gpu).unmaps, 1u);
    CHECK_EQ(count.since(gpu).run_lists, 1u);
  }
}

}  // namespace

TEST(a_batch_over_processes_costs_one_unmap_and_one_run_list_per_gpu) {
  needs_run_lists();
  Crowd crowd;
  Peer online;
  for (unsigned gpu : {0u, 1u}) online.create_queue(gpu, 15);  // a run list is needed for it
  Lease lease;
  PacketCount stop;
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, crowd.entries), 12);
  check_one_cycle(stop);
  for (const kfd_preempt_entry& e : crowd.entries) CHECK_EQ(e.status, 0);
  CHECK_EQ(status(0).args.active_queues, 1u);
  PacketCount start;
  CHECK_EQ(batch(AMDKFD_IOC_FAST_REMAP, lease, crowd.entries), 12);
  check_one_cycle(start);
  CHECK_EQ(status(1).args.active_queues, 7u);
}

TEST(a_call_that_changes_nothing_sends_nothing) {
  Crowd crowd;
  Lease lease;
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, crowd.entries), 12);
  PacketCount count;
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, crowd.entries), 12);
  CHECK_EQ(crowd.entries[0].status, 1);
  CHECK_EQ(count.since(0).unmaps, 0u);
  CHECK_EQ(count.since(0).run_lists, 0u);
}

TEST(bad_entries_do_not_stop_the_others) {
  Crowd crowd;
  Lease lease;
  crowd.entries[1].queue_id = 99;
  crowd.entries[5].target = 999999;
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, crowd.entries), 10);
  CHECK_EQ(crowd.entries[1].status, -ENOENT);
  CHECK_EQ(crowd.entries[5].status, -ESRCH);
  CHECK_EQ(status(0).args.held_queues + status(1).args.held_queues, 10u);
}

TEST(a_swap_stops_and_starts_in_one_cycle) {
  Peer first, second;
  Lease lease;
  int a = first.create_queue(0, 5), b = second.create_queue(0, 5);
  CHECK_EQ(hold(self(), lease, entry(second.pid(), b)), 0);
  kfd_preempt_entry stop = entry(first.pid(), a), start = entry(second.pid(), b);
  kfd_ioctl_swap_queues_args args = {};
  args.preempt_ptr = reinterpret_cast<uint64_t>(&stop);
  args.resume_ptr = reinterpret_cast<uint64_t>(&start);
  args.num_preempt = args.num_resume = 1;
  args.entry_size = sizeof(kfd_preempt_entry);
  args.lease_fd = lease;
  args.type = KFD_IOC_PREEMPT_SAVE;
  PacketCount count;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SWAP_QUEUES, &args), 0);
  CHECK_EQ(stop.status, 0);
  CHECK_EQ(start.status, 0);
  CHECK_EQ(count.since().unmaps, 1u);
  CHECK_EQ(count.since().run_lists, 1u);
  CHECK(!runs(first.pid(), a));
  CHECK(runs(second.pid(), b));
}

TEST(a_queue_in_both_lists_of_a_swap_runs_afterwards) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  kfd_preempt_entry both[2] = {entry(peer.pid(), queue), entry(peer.pid(), queue)};
  kfd_ioctl_swap_queues_args args = {};
  args.preempt_ptr = reinterpret_cast<uint64_t>(&both[0]);
  args.resume_ptr = reinterpret_cast<uint64_t>(&both[1]);
  args.num_preempt = args.num_resume = 1;
  args.entry_size = sizeof(kfd_preempt_entry);
  args.lease_fd = lease;
  args.type = KFD_IOC_PREEMPT_SAVE;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SWAP_QUEUES, &args), 0);
  CHECK(runs(peer.pid(), queue));
}

TEST(the_end_of_a_lease_costs_one_cycle_too) {
  needs_run_lists();
  Crowd crowd;
  Lease lease;
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, crowd.entries), 12);
  PacketCount count;
  lease.close_now();
  for (unsigned gpu : {0u, 1u}) {
    CHECK_EQ(count.since(gpu).run_lists, 1u);
    CHECK_EQ(status(gpu).args.held_queues, 0u);
  }
}

TEST(what_happens_to_a_held_job_interrupts_nobody) {
  Peer training, online;
  Lease lease;
  int queue = training.create_queue(0, 5);
  online.create_queue(0, 15);
  CHECK_EQ(hold(self(), lease, entry(training.pid(), all_queues)), 0);
  PacketCount count;
  CHECK_EQ(evict(training.pid()), 0);
  CHECK_EQ(restore(training.pid()), 0);
  CHECK_EQ(training.update_queue(queue, 100, 9), 0);
  CHECK(training.create_queue(0, 5) >= 0);
  CHECK_EQ(training.destroy_queue(queue), 0);
  training.kill_now();
  wait_until([] { return status().args.total_queues == 1; }, "the queues stay");
  CHECK_EQ(count.since().unmaps, 0u);
  CHECK_EQ(count.since().run_lists, 0u);
}
