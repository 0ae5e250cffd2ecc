// ioctl on a kfd file behaves like the kernel's, whichever descriptor names the file.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <csignal>
#include <thread>
#include <vector>

#include "preload/preload_support.h"

namespace vgpu::preload {
namespace {

TEST(Ioctl, WorksOnEveryDescriptorOfTheFile) {
  const UniqueFd first = open_kfd();
  ASSERT_TRUE(first);
  EXPECT_EQ(kfd_minor(first.get()), 17);
  const UniqueFd second = open_kfd();
  EXPECT_EQ(kfd_minor(second.get()), 17);
  const UniqueFd copy(::dup(first.get()));
  EXPECT_EQ(kfd_minor(copy.get()), 17);
  const UniqueFd high(::fcntl(first.get(), F_DUPFD_CLOEXEC, 200));
  EXPECT_EQ(kfd_minor(high.get()), 17);
}

TEST(Ioctl, IsNotTakenFromOtherFiles) {
  const UniqueFd null(::open("/dev/null", O_RDWR));
  gp::abi::GetVersionArgs args{};
  EXPECT_EQ(kfd_ioctl(null.get(), gp::abi::kfd_get_version, &args), -1);
  EXPECT_EQ(errno, ENOTTY);
  const UniqueFd memory(::memfd_create("other", MFD_CLOEXEC));
  EXPECT_EQ(kfd_ioctl(memory.get(), gp::abi::kfd_get_version, &args), -1);
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_EQ(kfd_ioctl(-1, gp::abi::kfd_get_version, &args), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(Ioctl, BadPointersAreEfault) {
  const UniqueFd kfd = open_kfd();
  EXPECT_EQ(kfd_ioctl<gp::abi::GetVersionArgs>(kfd.get(), gp::abi::kfd_get_version, nullptr), -1);
  EXPECT_EQ(errno, EFAULT);
  auto* wild = reinterpret_cast<gp::abi::AllocMemoryArgs*>(0x10);
  EXPECT_EQ(kfd_ioctl(kfd.get(), gp::abi::kfd_alloc_memory_of_gpu, wild), -1);
  EXPECT_EQ(errno, EFAULT);
  void* page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(
      kfd_ioctl(kfd.get(), gp::abi::kfd_get_version, static_cast<gp::abi::GetVersionArgs*>(page)),
      -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(kfd_minor(kfd.get()), 17) << "the connection is still good";
  ::munmap(page, 4096);
}

TEST(Ioctl, UnknownCommandsFail) {
  const UniqueFd kfd = open_kfd();
  u64 argument = 0;
  EXPECT_EQ(kfd_ioctl(kfd.get(), 0xfe, &argument), -1);
  EXPECT_EQ(kfd_minor(kfd.get()), 17);
}

TEST(Ioctl, SuccessLeavesErrnoAlone) {
  const UniqueFd kfd = open_kfd();
  errno = 4711;
  EXPECT_EQ(kfd_minor(kfd.get()), 17);
  EXPECT_EQ(errno, 4711);
}

TEST(Ioctl, ManyThreadsCallAtOnce) {
  const UniqueFd kfd = open_kfd();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 200; ++call) {
        right += kfd_minor(kfd.get()) == 17;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 16 * 200);
}

int count_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    count += ::fcntl(fd, F_GETFD) >= 0;
  }
  return count;
}

TEST(Ioctl, ThreadsThatEndLeaveNothingOpen) {
  const UniqueFd kfd = open_kfd();
  ASSERT_EQ(kfd_minor(kfd.get()), 17);
  const int before = count_descriptors();
  for (int i = 0; i < 50; ++i) {
    std::thread([&] { EXPECT_EQ(kfd_minor(kfd.get()), 17); }).join();
  }
  EXPECT_EQ(count_descriptors(), before);
}

TEST(Ioctl, DescriptorsOfTheLibraryAreClosedOnExec) {
  const UniqueFd kfd = open_kfd();
  ASSERT_EQ(kfd_minor(kfd.get()), 17);
  for (int fd = 3; fd < 1024; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    char link[64], target[256];
    ::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = flags < 0 ? -1 : ::readlink(link, target, sizeof target);
    if (length > 0 && std::string(target, target + length).find("socket:") == 0) {
      EXPECT_TRUE(flags & FD_CLOEXEC) << fd;
    }
  }
}

// ---- signals ----

std::atomic<int> signal_fd{-1}, signal_result{0};
void call_in_handler(int) { signal_result = kfd_minor(signal_fd); }

struct BlockedWait {
  UniqueFd kfd = open_kfd();
  u32 event_id = 0;
  bool create() {
    gp::abi::CreateEventArgs event{};
    event.event_type = gp::abi::event_signal;
    const bool made = kfd_ioctl(kfd.get(), gp::abi::kfd_create_event, &event) == 0;
    event_id = event.event_id;
    return made;
  }
  // Blocks until the event is set.
  int wait() const {
    gp::abi::EventData data{};
    data.event_id = event_id;
    gp::abi::WaitEventsArgs args{};
    args.events_ptr = reinterpret_cast<u64>(&data);
    args.num_events = 1;
    args.timeout = 0xffffffff;
    return kfd_ioctl(kfd.get(), gp::abi::kfd_wait_events, &args) == 0
               ? static_cast<int>(args.wait_result)
               : -errno;
  }
  int set() const {
    gp::abi::EventIdArgs args{};
    args.event_id = event_id;
    return kfd_ioctl(kfd.get(), gp::abi::kfd_set_event, &args);
  }
};

TEST(Ioctl, ASignalHandlerMayCallWhileTheThreadIsBlockedInACall) {
  BlockedWait event;
  ASSERT_TRUE(event.create());
  signal_fd = event.kfd.get();
  signal_result = 0;
  struct sigaction action {};
  action.sa_handler = call_in_handler;  // no SA_RESTART: the system call is interrupted
  ::sigaction(SIGUSR1, &action, nullptr);
  std::atomic<int> result{-1};
  std::thread waiter([&] { result = event.wait(); });
  while (signal_result == 0) {  // the first signals may come before the call
    ::pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  EXPECT_EQ(signal_result, 17);
  EXPECT_EQ(event.set(), 0);
  waiter.join();
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace vgpu::preload
