// Who may stop whom. The tests run with CAP_SYS_NICE, ordinary peers without.
#include "peer.h"
#include "preempt.h"

constexpr Peer::User ordinary = Peer::User::ordinary;

TEST(an_ordinary_user_stops_own_queues_only) {
  Peer plain(ordinary), same(ordinary);
  int mine = plain.create_queue(0, 7), theirs = same.create_queue(0, 7);
  int lease = create_lease(plain);
  CHECK(lease >= 0);
  CHECK_EQ(hold(plain, lease, entry(0, mine)), 0);
  CHECK_EQ(hold(plain, lease, entry(plain.pid(), mine)), 1);
  CHECK_EQ(hold(plain, lease, entry(same.pid(), theirs)), -EPERM);
  CHECK(runs(same.pid(), theirs));
}

TEST(cap_sys_nice_stops_everybody) {
  Peer plain(ordinary);
  Lease lease;
  int queue = plain.create_queue(0, 7);
  CHECK_EQ(hold(self(), lease, entry(plain.pid(), queue)), 0);
  CHECK(!runs(plain.pid(), queue));
}

TEST(a_copy_of_the_targets_kfd_fd_is_the_right_to_stop_it) {
  Peer target;
  Lease lease;
  int queue = target.create_queue(0, 7);
  int copy = target.copy_of_kfd_fd();
  CHECK(copy >= 0);
  kfd_preempt_entry e = entry_by_fd(copy, queue);
  CHECK_EQ(hold(self(), lease, e), 0);
  CHECK(!runs(target.pid(), queue));
  CHECK_EQ(release(self(), lease, e), 0);
  CHECK(runs(target.pid(), queue));
  close(copy);
}

// Privileged, so that it needs no right of its own to get a copy of the fd.
TEST(a_copy_of_the_kfd_fd_is_no_right_for_another_user) {
  Peer target;  // root's
  int queue = target.create_queue(0, 7);
  int copy = target.copy_of_kfd_fd();
  CHECK(copy >= 0);
  // What a child inherits that its parent has forked, and that has then dropped its privileges.
  Peer heir(Peer::User::ordinary, copy);
  int lease = create_lease(heir);
  CHECK_EQ(hold(heir, lease, entry_by_fd(Peer::inherited_fd, queue)), -EPERM);
  CHECK(runs(target.pid(), queue));
  close(copy);
}

TEST(a_copy_of_the_kfd_fd_is_the_right_to_stop_a_process_of_the_same_user) {
  Peer target(ordinary);
  int queue = target.create_queue(0, 7);
  int copy = target.copy_of_kfd_fd();
  CHECK(copy >= 0);
  Peer friendly(Peer::User::ordinary, copy);
  int lease = create_lease(friendly);
  CHECK_EQ(hold(friendly, lease, entry_by_fd(Peer::inherited_fd, queue)), 0);
  CHECK(!runs(target.pid(), queue));
  close(copy);
}

TEST(a_lease_works_for_its_creator_only) {
  Peer owner;
  int queue = owner.create_queue(0, 7);
  int lease = create_lease(owner);
  CHECK_EQ(hold(owner, lease, entry(0, queue)), 0);
  int copy = owner.copy_of_fd(lease);
  CHECK(copy >= 0);
  CHECK_EQ(hold(self(), copy, entry(owner.pid(), queue)), -EPERM);
  CHECK_EQ(release(self(), copy, entry(owner.pid(), queue)), -EPERM);
  close(copy);
  CHECK(!runs(owner.pid(), queue));
}

TEST(an_ordinary_user_sees_counts_but_not_others_queues) {
  Peer plain(ordinary), other;
  plain.create_queue(0, 7);
  other.create_queue(0, 7);
  kfd_ioctl_queue_status_args args = {};
  args.gpu_id = gpus()[0].id;
  CHECK_EQ(plain.ioctl(AMDKFD_IOC_GET_QUEUE_STATUS, &args), 0);
  CHECK_EQ(args.num_queues, 1u);
  CHECK(args.total_queues >= 2);
}

TEST(an_ordinary_user_reserves_nothing) {
  Peer plain(ordinary);
  kfd_ioctl_slot_reservation_args args = {};
  args.lease_fd = create_lease(plain);
  args.gpu_id = gpus()[0].id;
  args.reserved_slots = 1;
  CHECK_EQ(plain.ioctl(AMDKFD_IOC_SET_SLOT_RESERVATION, &args), -EPERM);
}
