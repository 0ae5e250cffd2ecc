// Workers are real-time while somebody waits for them, and at no other time.
#include "device/urgency.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "device/device_kernels.h"
#include "device/device_support.h"
#include "libc/real_time.h"

namespace vgpu::device::test {
namespace {

namespace fs = std::filesystem;

bool may_be_real_time() {
  bool entered = false;
  std::thread([&] { entered = gp::enter_real_time(); }).join();
  return entered;
}

// Of the calling thread, and of those that it starts.
void give_up_real_time() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_RTPRIO, &none);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  ::syscall(SYS_capget, &header, data);
  data[0].effective &= ~(1u << CAP_SYS_NICE);
  ::syscall(SYS_capset, &header, data);
}

std::vector<pid_t> worker_threads() {
  std::vector<pid_t> threads;
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(entry.path() / "comm") >> name;
    if (name == "vgpu-worker") {
      threads.push_back(std::stoi(entry.path().filename()));
    }
  }
  return threads;
}

bool all_ordinary(const std::vector<pid_t>& threads) {
  return std::all_of(threads.begin(), threads.end(),
                     [](pid_t thread) { return gp::is_ordinary_thread(thread); });
}

// A thread that has joined and waits until it is told to run guest code, or to end.
class JoinedThread {
 public:
  explicit JoinedThread(Urgency& urgency)
      : urgency_(urgency), thread_([this, &urgency] {
          borrower_ = &urgency.join();
          step_ = 1;
          step_.notify_all();
          step_.wait(1);
          urgency.guest_code_next(*borrower_, serial_);
          step_ = 3;
          step_.notify_all();
          step_.wait(3);
        }) {
    step_.wait(0);
  }
  ~JoinedThread() {
    start_guest_code();
    step_ = 4;
    step_.notify_all();
    thread_.join();
  }
  void take_task() { serial_ = urgency_.serial(); }
  void start_guest_code() {
    if (step_ == 1) {
      step_ = 2;
      step_.notify_all();
    }
    step_.wait(2);
  }
  bool is_real_time() const { return gp::is_real_time_thread(borrower_->thread); }

 private:
  Urgency& urgency_;
  u64 serial_ = 0;
  std::atomic<int> step_{0};
  Urgency::Borrower* borrower_ = nullptr;
  std::thread thread_;
};

class UrgencyTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!may_be_real_time()) {
      GTEST_SKIP() << "needs CAP_SYS_NICE or RLIMIT_RTPRIO";
    }
  }
  Urgency urgency;
};

TEST_F(UrgencyTest, IsLentForAsLongAsSomebodyWaits) {
  JoinedThread worker(urgency);
  EXPECT_FALSE(worker.is_real_time());
  {
    const Loan loan(urgency);
    EXPECT_TRUE(worker.is_real_time());
    EXPECT_TRUE(gp::is_real_time_thread()) << "who waits wants to know soon, too";
  }
  EXPECT_FALSE(worker.is_real_time());
  EXPECT_FALSE(gp::is_real_time_thread());
}

TEST_F(UrgencyTest, IsLentUntilTheLastOneWaitsNoLonger) {
  JoinedThread worker(urgency);
  auto first = std::make_unique<Loan>(urgency);
  {
    const Loan second(urgency);
    first.reset();
    EXPECT_TRUE(worker.is_real_time());
  }
  EXPECT_FALSE(worker.is_real_time());
}

TEST_F(UrgencyTest, IsGivenBackBeforeGuestCodeRuns) {
  JoinedThread worker(urgency);
  const Loan loan(urgency);
  worker.take_task();
  worker.start_guest_code();
  EXPECT_FALSE(worker.is_real_time());
}

TEST_F(UrgencyTest, StaysWithAWorkerThatIsWaitedForBeforeItHasBegun) {
  JoinedThread worker(urgency);
  worker.take_task();
  const Loan loan(urgency);
  worker.start_guest_code();
  EXPECT_TRUE(worker.is_real_time());
}

TEST_F(UrgencyTest, IsLentAgainToWhoGaveItBackTooSoon) {
  JoinedThread worker(urgency);
  Loan loan(urgency);
  worker.take_task();
  worker.start_guest_code();
  loan.renew();
  EXPECT_TRUE(worker.is_real_time());
}

TEST_F(UrgencyTest, RestsFromTimeToTimeIfSomebodyHasToWaitForLong) {
  JoinedThread worker(urgency);
  Loan loan(urgency);
  EXPECT_TRUE(eventually([&] { return loan.turn_is_over(); }));
  loan.next_turn();
  EXPECT_FALSE(worker.is_real_time());
  EXPECT_TRUE(eventually([&] { return loan.turn_is_over(); }));
  loan.next_turn();
  EXPECT_TRUE(worker.is_real_time());
}

// Keeps ordinary threads off a CPU until it is told to stop, or for `longest`.
class Hog {
 public:
  Hog(int cpu, std::chrono::milliseconds longest)
      : thread_([this, cpu, longest] {
          pin_to(cpu);
          gp::enter_real_time();
          started_ = true;
          const auto end = std::chrono::steady_clock::now() + longest;
          while (!stop_ && std::chrono::steady_clock::now() < end) {
          }
          ended_ = true;
        }) {
    EXPECT_TRUE(eventually([&] { return started_.load(); }));
  }
  ~Hog() {
    stop_ = true;
    thread_.join();
  }
  bool ended() const { return ended_; }

  static void pin_to(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    ::sched_setaffinity(0, sizeof(cpus), &cpus);
  }

 private:
  std::atomic<bool> started_{false}, stop_{false}, ended_{false};
  std::thread thread_;
};

// The first two CPUs that this thread may use.
std::vector<int> two_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof(allowed), &allowed);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

// A worker that gives back what it was lent has no CPU from that very moment on. Who lends next
// must not wait until it has one again.
TEST_F(UrgencyTest, TheNextLenderDoesNotWaitForAWorkerWithoutACpu) {
  const std::vector<int> cpus = two_cpus();
  if (cpus.size() < 2) {
    GTEST_SKIP() << "needs two CPUs";
  }
  std::atomic<pid_t> worker_thread{0};
  std::atomic<bool> is_lent{false};
  std::thread worker([&] {
    Hog::pin_to(cpus[1]);
    Urgency::Borrower& borrower = urgency.join();
    worker_thread = borrower.thread;
    is_lent.wait(false);
    urgency.guest_code_next(borrower, urgency.serial());
  });
  EXPECT_TRUE(eventually([&] { return worker_thread != 0; }));
  std::thread lender([&] {
    Hog::pin_to(cpus[0]);
    sched_param above_the_hog{};
    above_the_hog.sched_priority = 2;
    ASSERT_EQ(::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &above_the_hog), 0);
    Loan first(urgency);
    // The kernel lets ordinary threads run for a moment after they were kept off for a second.
    const Hog hog(cpus[1], std::chrono::milliseconds(700));
    is_lent = true;
    is_lent.notify_all();
    ASSERT_TRUE(eventually([&] { return gp::is_ordinary_thread(worker_thread) || hog.ended(); }));
    const Loan second(urgency);
    EXPECT_FALSE(hog.ended()) << "the lender waited for a thread that waited for a CPU";
  });
  lender.join();
  worker.join();
}

TEST_F(UrgencyTest, LeavesThePriorityThatSomebodyChose) {
  std::thread([&] {
    const sched_param none{};
    ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH, &none), 0);
    urgency.join();
    { const Loan loan(urgency); }
    EXPECT_EQ(gp::thread_policy(), SCHED_BATCH);
    EXPECT_EQ(urgency.counts().refused, 0u);
  }).join();
}

class UrgencyOnTheDevice : public DeviceTest {
 protected:
  UrgencyOnTheDevice() { config.lend_urgency = true; }
};

// The draining queue's waves run on until the test lets them end: beyond the stop.
TEST_F(UrgencyOnTheDevice, WavesThatCannotBeSavedDoNotRunInRealTime) {
  start();
  auto p = process();
  QueueOptions options;
  options.save_area = 0;
  AqlQueue queue(*p, options);
  auto flags = p->buffer<u32>(3);
  auto args = p->buffer<u64>(1);
  args[0] = flags.va;
  Dispatch dispatch;
  dispatch.kernel = p->load(assemble(kSpin));
  dispatch.kernarg = args.va;
  dispatch.signal = p->signal(1);
  run({queue.mqd});
  queue.submit(dispatch);
  ASSERT_TRUE(eventually([&] { return __atomic_load_n(&flags[1], __ATOMIC_ACQUIRE) == 1; }));

  const u64 before = gpu->stats().loans;
  std::atomic<bool> unmapped{false};
  std::thread stopper([&] {
    EXPECT_TRUE(gpu->unmap_queues(20 * kSecond));
    unmapped = true;
  });
  EXPECT_TRUE(eventually([&] { return gpu->stats().loans > before; }));
  EXPECT_TRUE(eventually([&] { return all_ordinary(worker_threads()); }));
  EXPECT_FALSE(unmapped) << "its waves run";
  __atomic_store_n(&flags[0], 1u, __ATOMIC_RELEASE);
  stopper.join();
  EXPECT_TRUE(all_ordinary(worker_threads()));
}

TEST_F(UrgencyOnTheDevice, WithoutPermissionQueuesStopAllTheSameAndItIsReported) {
  std::thread([&] {
    give_up_real_time();
    ASSERT_FALSE(may_be_real_time());
    start();
    auto p = process();
    AqlQueue queue(*p);
    EXPECT_TRUE(eventually([&] {  // the workers may be starting
      run({queue.mqd});
      unmap();
      return gpu->stats().loans_refused > 0;
    }));
    EXPECT_EQ(gpu->queue_state(*queue.mqd), QueueState::unmapped);
  }).join();
}

}  // namespace
}  // namespace vgpu::device::test
