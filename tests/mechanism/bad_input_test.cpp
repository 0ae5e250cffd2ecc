// What people do wrong, and what goes wrong: a clear error each, and nothing is left stopped.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <numeric>

#include "mechanism/target_process.h"
#include "mechanism_support.h"
#include "os/os.h"

namespace gp::mechanism {
namespace {

class BadInput : public testing::Test {
 protected:
  Result<LeaseReport> stop(const Target& target, const LeaseOptions& options = lease_for(1h)) {
    return controller_->stop({&target, 1}, options);
  }
  const std::unique_ptr<Controller> controller_ = make_controller();
};

TEST_F(BadInput, UnknownPid) {
  EXPECT_TRUE(is_error(stop({{4'194'305, 0}, {}}), ESRCH, "no process with pid 4194305"));
  EXPECT_TRUE(is_error(stop({{0, 0}, {}}), EINVAL, "not a pid"));
  EXPECT_TRUE(is_error(stop({{-1, 0}, {}}), EINVAL, "not a pid"));
}

TEST_F(BadInput, PidThatIsAnotherProcessNow) {
  Child sleeper({"/bin/sleep", "1000"});
  ProcessKey before = sleeper.key();
  before.start_time -= 1;
  EXPECT_TRUE(is_error(stop({before, {}}), ESRCH, "another process has that pid now"));
}

TEST_F(BadInput, Zombie) {
  Child child({"/bin/true"});
  siginfo_t info = {};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(is_error(stop({{child.pid(), 0}, {}}), ESRCH, "zombie"));
}

TEST_F(BadInput, ProcessWithoutQueues) {
  Child sleeper({"/bin/sleep", "1000"});
  EXPECT_TRUE(is_error(stop({sleeper.key(), {}}), ENOENT, "has no GPU queues"));
  EXPECT_TRUE(
      is_error(stop({sleeper.key(), {}}, lease_for(1h, Mechanism::criu)), ENOENT, "/dev/kfd"));
}

TEST_F(BadInput, QueuesThatDoNotExist) {
  Victim victim;
  EXPECT_TRUE(is_error(stop({victim.key(), {700}}), ENOENT, "has no queue 700"));
  EXPECT_TRUE(is_error(stop({victim.key(), {0, 700}}), ENOENT, "has no queue 700"));
  EXPECT_TRUE(is_error(stop({victim.key(), {1024}}), EINVAL, "1024 is not a queue id"));
  EXPECT_TRUE(is_error(stop({victim.key(), {0, 1, 0}}), EINVAL, "queue 0 of pid"));
  std::vector<u32> many(1025);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_TRUE(is_error(stop({victim.key(), many}), EINVAL, "at most 1024"));
  EXPECT_FALSE(any_stopped(victim.pid()));
}

TEST_F(BadInput, GraceThatWouldHangTheGpu) {
  Victim victim;
  LeaseOptions options = lease_for(1h);
  for (const u32 grace : {0u, 256u, 1000u, 0x7fffffffu}) {
    options.stop.grace_1k_clocks = grace;
    EXPECT_TRUE(is_error(stop({victim.key(), {}}, options), EINVAL, "1 to 255")) << grace;
  }
  EXPECT_FALSE(any_stopped(victim.pid()));
  options.stop.grace_1k_clocks = 255;
  EXPECT_TRUE(succeeds(stop({victim.key(), {}}, options)));
}

TEST_F(BadInput, LeasesOfNoOrEndlessDuration) {
  Victim victim;
  EXPECT_TRUE(is_error(stop({victim.key(), {}}, LeaseOptions{}), EINVAL, "deadline"));
  EXPECT_TRUE(is_error(stop({victim.key(), {}}, lease_for(25h)), EINVAL, "24 hours"));
  EXPECT_TRUE(is_error(controller_->stop({}, lease_for(1h)), EINVAL, "at least one process"));
  const std::vector<Target> twice = {{victim.key(), {0}}, {victim.key(), {1}}};
  EXPECT_TRUE(is_error(controller_->stop(twice, lease_for(1h)), EINVAL, "named twice"));
  LeaseOptions options = lease_for(1h);
  options.owner = 4'194'305;
  EXPECT_TRUE(is_error(stop({victim.key(), {}}, options), ESRCH));
  EXPECT_FALSE(any_stopped(victim.pid()));
}

// What root may do, it may do by this capability.
bool give_up_ptrace() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) {
    return false;
  }
  data[0].effective &= ~(1u << CAP_SYS_PTRACE);
  return ::syscall(SYS_capset, &header, data) == 0;
}

TEST_F(BadInput, ProcessOfAnotherUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to start a process of another user";
  }
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a forked child";
#endif
  Child other({"/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", "sleep", "1000"});
  ASSERT_TRUE(eventually([&] {
    const auto name = system_os().read_file("/proc/" + std::to_string(other.pid()) + "/comm");
    return name && *name == "sleep\n";
  }));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool ready = give_up_ptrace();
    const auto attached = attach(Mechanism::debugger, other.key());
    const bool refused = !attached && attached.error().code == EPERM &&
                         attached.error().hint.find("CAP_SYS_PTRACE") != std::string::npos;
    ::_exit(ready && refused ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(BadInput, MechanismsThatRunInsideTheTarget) {
  Victim victim;
  for (const Mechanism id :
       {Mechanism::self_debug, Mechanism::update_queue, Mechanism::early_ioctl}) {
    EXPECT_TRUE(is_error(stop({victim.key(), {}}, lease_for(1h, id)), EOPNOTSUPP, "gpreempt run"));
  }
}

TEST_F(BadInput, DriverThatCannotStopAQueue) {
  Victim victim;
  const std::string device =
      std::filesystem::path(std::getenv("GPREEMPT_VGPU_DIR")).filename().string();
  ASSERT_EQ(Child({program("vgpu"), "inject", device, "suspend-fails=1"}).wait(), 0);
  EXPECT_TRUE(is_error(stop({victim.key(), {}}), EIO, "runs again"));
  EXPECT_TRUE(all_run_again(victim.pid()));
  EXPECT_TRUE(victim.makes_progress());
}

TEST(Table, NamesEveryMechanismOnce) {
  for (const MechanismInfo& each : kMechanisms) {
    EXPECT_EQ(find_mechanism(each.name), &each);
    EXPECT_EQ(&info_of(each.mechanism), &each);
  }
  EXPECT_EQ(find_mechanism("no-such-mechanism"), nullptr);
}

// KFD 1.11 (Linux 6.1) has no debugger interface.
TEST(OldDriver, RefusesTheDebuggerAndSaysWhy) {
  Child sleeper({"/bin/sleep", "1000"});
  EXPECT_TRUE(is_error(attach(Mechanism::debugger, sleeper.key()), EOPNOTSUPP, "KFD 1.11"));
  const Probe probed = probe(Mechanism::debugger, sleeper.key());
  EXPECT_FALSE(probed.usable);
  EXPECT_NE(probed.hint.find("1.13"), std::string::npos) << probed.hint;
  EXPECT_TRUE(is_error(attach(Mechanism::self_debug, {::getpid(), 0}), EOPNOTSUPP, "KFD 1.11"));
}

TEST(OldDriver, CanBePausedByCriu) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "CRIU_OP needs CAP_CHECKPOINT_RESTORE";
  }
  Victim victim({"--no-runtime"});
  const auto controller = make_controller();
  const Target target{victim.key(), {}};
  const auto lease = controller->stop({&target, 1}, lease_for(1h, Mechanism::criu));
  ASSERT_TRUE(succeeds(lease));
  EXPECT_TRUE(victim.stands_still());
  ASSERT_TRUE(succeeds(controller->start(lease->lease)));
  EXPECT_TRUE(victim.makes_progress());
}

// In a mount namespace of its own a process can call any file /dev/kfd.
TEST_F(BadInput, FileThatIsOnlyCalledKfd) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool made = ::unshare(CLONE_NEWNS) == 0 &&
                      ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      ::mount("none", "/dev", "tmpfs", 0, nullptr) == 0 &&
                      ::syscall(SYS_openat, AT_FDCWD, "/dev/kfd", O_CREAT | O_RDWR, 0600) >= 0;
    const char said = made ? 'y' : 'n';
    (void)!::write(ready[1], &said, 1);
    ::pause();
    ::_exit(0);
  }
  char said = 'n';
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  const auto found = kfd_descriptors(child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (said != 'y') {
    GTEST_SKIP() << "only root has a mount namespace of its own";
  }
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

}  // namespace
}  // namespace gp::mechanism
