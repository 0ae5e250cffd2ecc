// What a lease may cost others: their number is limited, and so is the time it may hold them.
#include "peer.h"
#include "preempt.h"

TEST(a_process_has_64_leases_at_most) {
  Peer peer;
  int leases[KFD_PREEMPT_MAX_LEASES];
  for (int& lease : leases) CHECK((lease = create_lease(peer)) >= 0);
  CHECK_EQ(create_lease(peer), -ENOSPC);
  Lease other;  // of another process
  CHECK_EQ(peer.close_fd(leases[7]), 0);
  CHECK(create_lease(peer) >= 0);
  CHECK_EQ(create_lease(peer), -ENOSPC);
}

TEST(a_lease_without_limit_of_time_stops_its_owner_only) {
  Peer peer, other;
  int mine = peer.create_queue(0, 7), theirs = other.create_queue(0, 7);
  const int lease = create_lease(peer, 0);
  CHECK(lease >= 0);
  CHECK_EQ(hold(peer, lease, entry(0, mine)), 0);
  CHECK_EQ(hold(peer, lease, entry(other.pid(), theirs)), -EPERM);
  CHECK_EQ(hold(peer, lease, entry(other.pid(), all_queues)), -EPERM);
  CHECK(runs(other.pid(), theirs));
  CHECK_EQ(release(peer, lease, entry(other.pid(), theirs)), KFD_PREEMPT_UNCHANGED);
  kfd_ioctl_preempt_lease_args args = {};
  args.op = KFD_PREEMPT_LEASE_RENEW;
  args.lease_fd = lease;
  args.timeout_ms = long_enough_ms;
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args), 0);
  CHECK_EQ(hold(peer, lease, entry(other.pid(), theirs)), 0);
  args.timeout_ms = 0;
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_PREEMPT_LEASE, &args), -EINVAL);
}
