// Every call, with good and bad arguments.
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "peer.h"
#include "preempt.h"

TEST(capabilities_tell_the_version_and_the_limits) {
  kfd_ioctl_preempt_caps_args caps = {};
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_PREEMPT_CAPS, &caps), 0);
  CHECK_EQ(caps.version, 2u);
  CHECK_EQ(caps.caps, 31u);
  CHECK_EQ(caps.max_entries, 4096u);
  CHECK_EQ(caps.max_grace_period, 255u);
  CHECK_EQ(caps.max_leases, 64u);
  CHECK_EQ(caps.max_timeout_ms, 60000u);
  caps.flags = 1;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_PREEMPT_CAPS, &caps), -EINVAL);
}

TEST(capabilities_of_a_gpu_are_those_of_its_scheduler) {
  kfd_ioctl_preempt_caps_args caps = {};
  caps.gpu_id = 4711;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_PREEMPT_CAPS, &caps), -EINVAL);
  caps.gpu_id = gpus()[1].id;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_PREEMPT_CAPS, &caps), 0);
  CHECK((caps.caps & KFD_PREEMPT_CAP_QUEUES) != 0);
  CHECK_EQ((caps.caps & KFD_PREEMPT_CAP_DEMOTE) != 0, has_mes());
  CHECK_EQ((caps.caps & KFD_PREEMPT_CAP_RESERVATION) != 0, !has_mes());
  CHECK_EQ(caps.max_grace_period, has_mes() ? 0u : 255u);
}

TEST(numbers_around_the_window_stay_unknown) {
  char args[64] = {};
  for (unsigned nr : {0x00u, 0x27u, 0x86u, 0x89u, 0xdfu, 0xe9u, 0xffu})
    CHECK_EQ(self().ioctl(_IOWR('K', nr, char[64]), args), -ENOTTY);
}

TEST(the_stock_calls_still_work) {
  kfd_ioctl_get_version_args version = {};
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_VERSION, &version), 0);
  CHECK_EQ(version.major_version, 1u);
  CHECK_EQ(version.minor_version, 17u);
}

TEST(a_lease_refuses_bad_arguments) {
  kfd_ioctl_preempt_lease_args args = {};
  args.op = 2;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args), -EINVAL);
  args.op = KFD_PREEMPT_LEASE_CREATE;
  args.flags = 1;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args), -EINVAL);
  args.flags = 0;
  args.timeout_ms = 60001;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args), -EINVAL);
  args = {};
  args.op = KFD_PREEMPT_LEASE_RENEW;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args), -EINVAL);  // without a time
  args.timeout_ms = 100;
  args.lease_fd = 999;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args), -EBADF);
  args.lease_fd = self().fd();
  CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args), -EBADF);
}

TEST(a_queue_stops_and_runs_again) {
  Peer peer;
  Lease lease;
  int first = peer.create_queue(0, 7), second = peer.create_queue(0, 7);
  CHECK(first >= 0 && second >= 0);
  CHECK(runs(peer.pid(), first));
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), first)), 0);
  CHECK(!runs(peer.pid(), first));
  CHECK(runs(peer.pid(), second));
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), first)), 1);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), first)), 0);
  CHECK(runs(peer.pid(), first));
  CHECK_EQ(release(self(), lease, entry(peer.pid(), first)), 1);
}

// All GPUs are asked at the same time; the one that has the queue takes it.
TEST(a_queue_is_found_on_whatever_gpu_it_is) {
  Peer peer;
  Lease lease;
  const int queues[2] = {peer.create_queue(0, 7), peer.create_queue(1, 7)};
  for (int i = 0; i < 100; i++) {
    for (int queue : queues) {
      CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
      CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
    }
  }
}

TEST(a_process_stops_its_own_queues) {
  Lease lease;
  int queue = self().create_queue(0, 7);
  CHECK_EQ(hold(self(), lease, entry(0, queue)), 0);
  CHECK(!runs(getpid(), queue));
  CHECK_EQ(release(self(), lease, entry(getpid(), queue)), 0);
  CHECK(runs(getpid(), queue));
  CHECK_EQ(self().destroy_queue(queue), 0);
}

TEST(an_sdma_queue_stops_too) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7, KFD_IOC_QUEUE_TYPE_SDMA);
  CHECK(queue >= 0);
  CHECK(runs(peer.pid(), queue));
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(!runs(peer.pid(), queue));
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(runs(peer.pid(), queue));
}

TEST(entries_that_name_nothing_say_why) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), 77)), -ENOENT);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue, 4711)), -ENOENT);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue, gpus()[1].id)), -ENOENT);
  CHECK_EQ(hold(self(), lease, entry(999999, queue)), -ESRCH);
  CHECK_EQ(hold(self(), lease, entry(1, queue)), -ESRCH);
  CHECK_EQ(hold(self(), lease, entry(0xfffffff0, queue)), -ESRCH);
  kfd_preempt_entry e = entry(peer.pid(), queue);
  e.flags = 2;
  CHECK_EQ(hold(self(), lease, e), -EINVAL);
  e = entry(peer.pid(), queue);
  e.pad = 1;
  CHECK_EQ(hold(self(), lease, e), -EINVAL);
  e = entry_by_fd(999, queue);
  CHECK_EQ(hold(self(), lease, e), -EBADF);
  e.target = lease;
  CHECK_EQ(hold(self(), lease, e), -EBADF);
  CHECK(runs(peer.pid(), queue));
}

TEST(a_call_that_is_wrong_as_a_whole_does_nothing) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  kfd_ioctl_preempt_queue_args args = {};
  args.entry = entry(peer.pid(), queue);
  args.lease_fd = lease;
  for (uint32_t type : {0, 1, 5}) {
    args.type = type;
    CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_QUEUE, &args), -EINVAL);
  }
  for (uint32_t type : {1u, unsigned{KFD_IOC_PREEMPT_SAVE}, unsigned{KFD_IOC_PREEMPT_DEMOTE}}) {
    args.type = type;
    CHECK_EQ(self().ioctl(AMDKFD_IOC_RESUME_QUEUE, &args), -EINVAL);
  }
  args.type = KFD_IOC_PREEMPT_SAVE;
  args.flags = 1;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_QUEUE, &args), -EINVAL);
  args.flags = 0;
  args.pad = 1;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_QUEUE, &args), -EINVAL);
  args.pad = 0;
  args.grace_period = 256;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_QUEUE, &args), -EINVAL);
  args.grace_period = 0;
  int other = eventfd(0, EFD_CLOEXEC);
  for (int fd : {-1, 999, other, self().fd()}) {
    args.lease_fd = fd;
    CHECK_EQ(self().ioctl(AMDKFD_IOC_PREEMPT_QUEUE, &args), -EBADF);
  }
  close(other);
  CHECK(runs(peer.pid(), queue));
}

TEST(only_mes_can_demote_a_queue) {
  needs_run_lists();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  CHECK_EQ(demote(lease, entry(peer.pid(), queue)), -EOPNOTSUPP);
  CHECK_EQ(demote(lease, entry(peer.pid(), 77)), -ENOENT);
  std::vector<kfd_preempt_entry> entries = {entry(peer.pid(), queue), entry(peer.pid(), 77)};
  kfd_ioctl_batch_queues_args list = {};
  list.entries_ptr = reinterpret_cast<uint64_t>(entries.data());
  list.num_entries = 2;
  list.entry_size = sizeof entries[0];
  list.lease_fd = lease;
  list.type = KFD_IOC_PREEMPT_DEMOTE;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &list), 0);
  CHECK_EQ(list.num_done, 0u);
  CHECK_EQ(entries[0].status, -EOPNOTSUPP);
  CHECK_EQ(entries[1].status, -ENOENT);
  CHECK(runs(peer.pid(), queue));
  CHECK_EQ(status().args.held_queues, 0u);
}

TEST(a_grace_period_costs_no_further_unmap) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  PacketCount count;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue), 0, KFD_PREEMPT_MAX_GRACE_PERIOD), 0);
  CHECK_EQ(count.since().unmaps, 1u);
}

TEST(lists_refuse_bad_lengths_and_pointers) {
  Lease lease;
  kfd_ioctl_batch_queues_args args = {};
  args.lease_fd = lease;
  args.type = KFD_IOC_PREEMPT_SAVE;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &args), 0);
  args.num_entries = 1;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &args), -EINVAL);  // entry_size
  args.entry_size = sizeof(kfd_preempt_entry);
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &args), -EFAULT);
  args.flags = 1;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &args), -EINVAL);
  args.flags = 0;
  args.num_entries = 4097;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &args), -EINVAL);
  args.num_entries = 1;
  args.entries_ptr = 0xffff888000000000;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &args), -EFAULT);
  args.num_entries = 0;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_FAST_REMAP, &args), -EINVAL);  // has no type
  args.type = 0;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_FAST_REMAP, &args), 0);
  kfd_ioctl_swap_queues_args swap = {};
  swap.lease_fd = lease;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SWAP_QUEUES, &swap), -EINVAL);
  swap.type = KFD_IOC_PREEMPT_LOW;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SWAP_QUEUES, &swap), -EINVAL);
  swap.type = KFD_IOC_PREEMPT_SAVE;
  swap.entry_size = sizeof(kfd_preempt_entry);
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SWAP_QUEUES, &swap), 0);
  swap.num_resume = 1;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SWAP_QUEUES, &swap), -EFAULT);
}

// Entries of a later version are longer. What they have more asks for nothing, or is refused.
TEST(longer_entries_are_taken_if_what_is_more_is_zero) {
  struct Longer {
    kfd_preempt_entry known;
    uint64_t more;
  };
  Peer peer;
  Lease lease;
  int first = peer.create_queue(0, 7), second = peer.create_queue(0, 7);
  Longer list[2] = {{entry(peer.pid(), first), 0}, {entry(peer.pid(), second), 1}};
  kfd_ioctl_batch_queues_args args = {};
  args.entries_ptr = reinterpret_cast<uint64_t>(list);
  args.num_entries = 2;
  args.entry_size = sizeof list[0];
  args.lease_fd = lease;
  args.type = KFD_IOC_PREEMPT_SAVE;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &args), -E2BIG);
  CHECK(runs(peer.pid(), first));
  list[1].more = 0;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &args), 0);
  CHECK_EQ(args.num_done, 2u);
  CHECK_EQ(list[1].known.status, 0);
  CHECK(!runs(peer.pid(), second));
}

TEST(a_list_that_cannot_be_written_to_does_nothing) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  *static_cast<kfd_preempt_entry*>(page) = entry(peer.pid(), queue);
  CHECK_EQ(mprotect(page, 4096, PROT_READ), 0);
  kfd_ioctl_batch_queues_args args = {};
  args.entries_ptr = reinterpret_cast<uint64_t>(page);
  args.num_entries = 1;
  args.entry_size = sizeof(kfd_preempt_entry);
  args.lease_fd = lease;
  args.type = KFD_IOC_PREEMPT_SAVE;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_BATCH_UNMAP_QUEUES, &args), -EFAULT);
  CHECK(runs(peer.pid(), queue));
  CHECK_EQ(status().args.held_queues, 0u);
  munmap(page, 4096);
}

TEST(the_longest_list_is_accepted) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  std::vector<kfd_preempt_entry> entries(4096, entry(peer.pid(), queue));
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, entries), 4096);
  CHECK_EQ(entries[0].status, 0);
  CHECK_EQ(entries[4095].status, 1);
  CHECK(!runs(peer.pid(), queue));
}

TEST(status_counts_and_lists_queues) {
  Peer peer;
  Lease lease;
  uint32_t before = status().args.total_queues;
  int low = peer.create_queue(0, 3), sdma = peer.create_queue(0, 15, KFD_IOC_QUEUE_TYPE_SDMA);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), low)), 0);
  Status s = status();
  CHECK_EQ(s.args.total_queues, before + 2);
  CHECK_EQ(s.args.held_queues, 1u);
  CHECK(s.args.num_vmids >= 1u);
  const kfd_queue_status* q = s.find(peer.pid(), low);
  CHECK(q != nullptr);
  CHECK_EQ(q->priority, 3u);
  CHECK_EQ(q->queue_type, unsigned{KFD_IOC_QUEUE_TYPE_COMPUTE_AQL});
  CHECK_EQ(q->flags, unsigned{KFD_QUEUE_STATUS_HELD});
  CHECK_EQ(q->num_holds, 1u);
  q = s.find(peer.pid(), sdma);
  CHECK(q != nullptr);
  CHECK_EQ(q->queue_type, unsigned{KFD_IOC_QUEUE_TYPE_SDMA});
  CHECK_EQ(q->flags, unsigned{KFD_QUEUE_STATUS_ACTIVE});
}

TEST(status_tells_how_many_there_are_when_there_is_no_room) {
  Peer peer;
  for (int i = 0; i < 3; i++) peer.create_queue(0, 7);
  kfd_ioctl_queue_status_args args = {};
  args.gpu_id = gpus()[0].id;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_QUEUE_STATUS, &args), 0);
  CHECK(args.num_queues >= 3);
  args.gpu_id = 4711;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_QUEUE_STATUS, &args), -EINVAL);
  args.gpu_id = gpus()[0].id;
  args.num_queues = 1;
  args.entry_size = 31;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_QUEUE_STATUS, &args), -EINVAL);
  args.entry_size = sizeof(kfd_queue_status);
  args.queues_ptr = 8;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_QUEUE_STATUS, &args), -EFAULT);
}

TEST(the_early_calls_stop_and_resume_own_queues) {
  Peer peer;
  int queue = peer.create_queue(0, 5), other = peer.create_queue(0, 5);
  kfd_ioctl_early_preempt_args args = {};
  args.queue_id = queue;
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_EARLY_PREEMPT_QUEUE, &args), -EOPNOTSUPP);  // drain
  args.preempt_type = KFD_EARLY_PREEMPT_RESET;
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_EARLY_PREEMPT_QUEUE, &args), -EOPNOTSUPP);
  args.preempt_type = KFD_EARLY_PREEMPT_SAVE;
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_EARLY_PREEMPT_QUEUE, &args), 0);
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_EARLY_PREEMPT_QUEUE, &args), 0);
  CHECK(!runs(peer.pid(), queue));
  CHECK(runs(peer.pid(), other));
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_EARLY_RESUME_QUEUE, &args), 0);
  CHECK(runs(peer.pid(), queue));
  args.queue_id = 77;
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_EARLY_PREEMPT_QUEUE, &args), -ENOENT);
}
