// fork, exec and clone: each process has a device of its own, as with the real driver.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <filesystem>
#include <thread>

#include "preload/preload_support.h"

namespace vgpu::preload {
namespace {

std::string own_entry() { return "/sys/class/kfd/kfd/proc/" + std::to_string(::getpid()); }

TEST(Process, AForkedChildOpensADeviceOfItsOwn) {
  const UniqueFd kfd = open_kfd();
  ASSERT_EQ(kfd_minor(kfd.get()), 17);
  const int status = in_child([] {
    const UniqueFd own = open_kfd();
    return kfd_minor(own.get()) == 17 && ::access(own_entry().c_str(), F_OK) == 0 ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(kfd_minor(kfd.get()), 17) << "the parent's goes on";
  EXPECT_EQ(::access(own_entry().c_str(), F_OK), 0);
}

TEST(Process, AnInheritedFileDoesNotWorkInTheChild) {
  static int inherited;
  const UniqueFd kfd = open_kfd();
  inherited = kfd.get();
  // kfd_ioctl: -EBADF for a file that another process opened.
  EXPECT_EQ(in_child([] { return -kfd_minor(inherited); }), EBADF);
  EXPECT_EQ(kfd_minor(kfd.get()), 17);
}

TEST(Process, ForksFromManyThreadsWhileOthersCall) {
  const UniqueFd kfd = open_kfd();
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread caller([&] {
    while (!stop) {
      wrong += kfd_minor(kfd.get()) != 17;
    }
  });
  std::thread forkers[3];
  for (std::thread& forker : forkers) {
    forker = std::thread([&] {
      for (int i = 0; i < 10; ++i) {
        wrong += in_child([] { return kfd_minor(open_kfd().get()) == 17 ? 0 : 1; }) != 0;
      }
    });
  }
  for (std::thread& forker : forkers) {
    forker.join();
  }
  stop = true;
  caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Process, ExecEndsTheDeviceOfTheOldProgram) {
  const pid_t child = ::fork();
  if (child == 0) {
    Gpu gpu;
    if (gpu.allocate(gp::abi::alloc_vram, 4096) == 0) {
      ::_exit(1);
    }
    // The new program has the same pid and sees no trace of the old one's device, at once.
    ::execlp("sh", "sh", "-c",
             "test ! -e /sys/class/kfd/kfd/proc/$$ || { cat /dev/null; sleep 1; test ! -e "
             "/sys/class/kfd/kfd/proc/$$; }",
             nullptr);
    ::_exit(2);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Process, AProgramExecedFromAClientIsAClientAnew) {
  const pid_t child = ::fork();
  if (child == 0) {
    Gpu gpu;
    ::execl("/proc/self/exe", "preload_tests", "--gtest_filter=Ioctl.WorksOnEvery*", nullptr);
    ::_exit(2);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Process, AKilledChildLosesItsDevice) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Gpu gpu;
    gpu.allocate(gp::abi::alloc_vram, u64{1} << 20);
    if (::write(ready[1], "x", 1) == 1) {
      ::pause();
    }
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const std::string entry = "/sys/class/kfd/kfd/proc/" + std::to_string(child);
  EXPECT_EQ(::access(entry.c_str(), F_OK), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  // The server works through it on its own; a deadline only bounds a failure.
  for (int i = 0; i < 1000 && ::access(entry.c_str(), F_OK) == 0; ++i) {
    ::usleep(10'000);
  }
  EXPECT_EQ(::access(entry.c_str(), F_OK), -1);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(Process, AForeignKfdFileIsRecognised) {
  int ready[2], hold[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(hold), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(hold[1]);
    const int fd = ::open("/dev/kfd", O_RDWR);
    char byte;
    if (::write(ready[1], &fd, sizeof fd) != sizeof fd || ::read(hold[0], &byte, 1) != 0) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int foreign = -1;
  ASSERT_EQ(::read(ready[0], &foreign, sizeof foreign), static_cast<ssize_t>(sizeof foreign));
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  const UniqueFd taken(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd.get(), foreign, 0)));
  ASSERT_TRUE(taken);
  // It reaches the driver, which knows whose it is; without a device of our own the library has
  // nothing else to tell it by.
  EXPECT_EQ(kfd_minor(taken.get()), -EBADF);
  ::close(hold[1]);
  ::waitpid(child, nullptr, 0);
}

TEST(Process, SpawnedProgramsBehaveNormally) {
  const UniqueFd kfd = open_kfd();
  const char* arguments[] = {"sh", "-c", "exit 9", nullptr};
  pid_t child = 0;
  ASSERT_EQ(::posix_spawnp(&child, "sh", nullptr, nullptr, const_cast<char**>(arguments), environ),
            0);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 9);
}

}  // namespace
}  // namespace vgpu::preload
