// The file of a lease: who looks at it sees whose it is, what it holds, and when it ends.
#include <poll.h>

#include <fstream>

#include "peer.h"
#include "preempt.h"

namespace {

short polled(int lease, int timeout_ms) {
  pollfd wanted = {lease, POLLIN, 0};
  return poll(&wanted, 1, timeout_ms) < 0 ? -1 : wanted.revents;
}

std::string fdinfo(int fd, const std::string& name) {
  std::ifstream file("/proc/self/fdinfo/" + std::to_string(fd));
  std::string word, value;
  while (file >> word)
    if (word == name + ":" && file >> value)
      return value;
  return "";
}

}  // namespace

TEST(poll_tells_of_a_missed_deadline_until_the_lease_is_renewed) {
  Lease lease;
  CHECK_EQ(polled(lease, 0), 0);
  CHECK_EQ(lease.renew(50), 0);
  CHECK_EQ(polled(lease, 20000), POLLHUP);
  CHECK_EQ(lease.renew(), 0);
  CHECK_EQ(polled(lease, 0), 0);
}

TEST(fdinfo_tells_whose_a_lease_is_and_what_it_holds) {
  Peer peer;
  Lease lease, forever(0);
  int queue = peer.create_queue(0, 7), other = peer.create_queue(1, 7);
  CHECK_EQ(fdinfo(lease, "owner"), std::to_string(getpid()));
  CHECK_EQ(fdinfo(lease, "holds"), std::string("0"));
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), other)), 0);
  CHECK_EQ(fdinfo(lease, "holds"), std::string("2"));
  const int left = atoi(fdinfo(lease, "deadline_ms").c_str());
  CHECK(left > 0 && left <= static_cast<int>(long_enough_ms));
  CHECK_EQ(fdinfo(forever, "deadline_ms"), std::string("none"));
  CHECK_EQ(peer.destroy_queue(other), 0);
  CHECK_EQ(fdinfo(lease, "holds"), std::string("1"));
  CHECK_EQ(lease.renew(1), 0);
  CHECK_EQ(polled(lease, 20000), POLLHUP);
  CHECK_EQ(fdinfo(lease, "deadline_ms"), std::string("expired"));
  wait_until([&] { return fdinfo(lease, "holds") == "0"; }, "holds of an expired lease");
}

TEST(debugfs_tells_who_holds_whom) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(1, 7);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  std::ifstream file("/sys/kernel/debug/kfd/holds");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string owner = "lease of pid " + std::to_string(getpid()) + ", deadline_ms ";
  const std::string held = "gpu " + std::to_string(gpus()[1].id) + " stops pid " +
                           std::to_string(peer.pid()) + " queue " + std::to_string(queue);
  if (text.find(owner) == std::string::npos || text.find(held) == std::string::npos)
    throw Failed("kfd/holds says:\n" + text);
}
