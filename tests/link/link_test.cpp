// How the agent finds a daemon where the kernel does not let it watch for one.
#include "agent/link.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/socket.h"
#include "libc/clock.h"
#include "support/temporary_directory.h"

namespace gp::agent {
namespace {

constexpr int kGood = 0, kNotPossibleHere = 1, kGaveUp = 2, kSeldom = 3, kNotFound = 4;
constexpr int kTries = 40;  // it gave up after nine, in 1.3 s

bool inotify_is_refused() {
  if (::unshare(CLONE_NEWUSER) != 0) {
    return false;
  }
  std::ofstream limit("/proc/sys/user/max_inotify_instances");
  limit << "0" << std::flush;
  return limit.good();
}

// Not to wait between tries shows what a long wait would.
int look_for_a_daemon(const std::string& socket) {
  if (!inotify_is_refused()) {
    return kNotPossibleHere;
  }
  ::setenv("GPREEMPT_SOCKET", socket.c_str(), 1);
  Link link;
  if (!link.prepare()) {
    return kNotPossibleHere;
  }
  for (int i = 0; i < kTries; ++i) {
    if (link.try_connect() || link.retry_at_ns() == Link::kNever) {
      return kGaveUp;
    }
    if (link.retry_at_ns() > monotonic_ns() + 1'000'000'000) {
      return kSeldom;
    }
  }
  const auto daemon = listen_on(socket);
  return daemon && link.try_connect() ? kGood : kNotFound;
}

TEST(Link, WithoutInotifyADaemonIsLookedForEverySecond) {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(look_for_a_daemon(directory.path() + "/gpreemptd.sock"));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPossibleHere) {
    GTEST_SKIP() << "no user namespaces here";
  }
  EXPECT_EQ(WEXITSTATUS(status), kGood);
}

}  // namespace
}  // namespace gp::agent
