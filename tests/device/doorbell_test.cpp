// Doorbell pages cool down when nothing is rung, and a ring of a cold page is noticed.
#include "device/doorbell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <thread>

#include "device/device_support.h"

namespace vgpu::device::test {
namespace {

// A page both sides have mapped; the client's side can be watched.
class DoorbellTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file_.reset(memfd_create("doorbells", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(file_.get(), 8192), 0);
    client_ = map();
    server_ = map();
    page = std::make_shared<DoorbellPage>(server_, 8192);
    watch.add(page);
  }
  void TearDown() override {
    watch.remove(*page);
    munmap(client_, 8192);
    munmap(server_, 8192);
  }
  std::atomic<u64>* map() {
    return static_cast<std::atomic<u64>*>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
  }
  // False where userfaultfd is not to be had.
  bool attach() {
    UniqueFd uffd(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY)));
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
    uffdio_register range{};
    range.range = {reinterpret_cast<u64>(client_), 8192};
    range.mode = UFFDIO_REGISTER_MODE_WP;
    if (!uffd || ioctl(uffd.get(), UFFDIO_API, &api) != 0 ||
        ioctl(uffd.get(), UFFDIO_REGISTER, &range) != 0) {
      return false;
    }
    watch.attach_userfaultfd(page, std::move(uffd), reinterpret_cast<u64>(client_));
    return true;
  }
  void ring(u32 slot, u64 value) { client_[slot].store(value); }

  std::atomic<u32> rings{0};
  DoorbellWatch watch;
  std::shared_ptr<DoorbellPage> page;
  const u64 callback = watch.on_ring([this] { ++rings; });

 private:
  UniqueFd file_;
  std::atomic<u64>* client_ = nullptr;
  std::atomic<u64>* server_ = nullptr;
};

TEST_F(DoorbellTest, WithoutUserfaultfdAStoreIsSeenByPolling) {
  ring(3, 7);
  EXPECT_TRUE(eventually([&] { return rings > 0; }));
  EXPECT_EQ(page->slot(3).load(), 7u);
  EXPECT_FALSE(page->hot);  // the watcher looks: the device needs not
}

TEST_F(DoorbellTest, ASlotWithANewQueueIsRungByTheValueItHadBefore) {
  for (u32 i = 0; i < 20; ++i) {
    watch.reset_slot(*page, 3);
    const u32 before = rings;
    ring(3, 0);
    ASSERT_TRUE(eventually([&] { return rings > before; })) << "ring " << i;
  }
}

TEST_F(DoorbellTest, AColdPageReportsEachFirstStore) {
  if (!attach()) {
    GTEST_SKIP() << "userfaultfd is not available";
  }
  for (u64 i = 1; i <= 100; ++i) {
    watch.cool_down({Doorbell{page, 0}});
    ASSERT_FALSE(page->hot);
    const u32 before = rings;
    ring(5, i);  // blocks until the watcher has opened the page
    EXPECT_EQ(page->slot(5).load(), i);
    EXPECT_TRUE(page->hot);
    ASSERT_TRUE(eventually([&] { return rings > before; }));
    const u32 after = rings;
    ring(6, i);  // hot: nobody is told
    EXPECT_EQ(rings, after);
  }
}

TEST_F(DoorbellTest, StoresFromManyThreadsIntoAPageThatKeepsCoolingAllArrive) {
  if (!attach()) {
    GTEST_SKIP() << "userfaultfd is not available";
  }
  std::atomic<bool> stop{false};
  std::thread cooler([&] {
    while (!stop) {
      watch.cool_down({Doorbell{page, 0}});
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> ringers;
  for (u32 t = 0; t < 4; ++t) {
    ringers.emplace_back([&, t] {
      for (u64 i = 1; i <= 200; ++i) {
        ring(t, i);
      }
    });
  }
  for (std::thread& ringer : ringers) {
    ringer.join();
  }
  stop = true;
  cooler.join();
  for (u32 t = 0; t < 4; ++t) {
    EXPECT_EQ(page->slot(t).load(), 200u);
  }
}

// As a thread does that faults and then has to wait for a CPU.
TEST_F(DoorbellTest, APageThatAStoreHasOpenedStaysOpenUntilTheStoreHasLanded) {
  if (!attach()) {
    GTEST_SKIP() << "userfaultfd is not available";
  }
  const std::vector<Doorbell> doorbells = {{page, 0}};
  watch.cool_down(doorbells);
  ASSERT_FALSE(page->hot);
  ring(7, page->slot(7).load());  // opens the page and changes nothing: a store yet to land
  watch.cool_down(doorbells);
  EXPECT_TRUE(page->hot);
  ring(5, 1);
  watch.cool_down(doorbells);
  EXPECT_FALSE(page->hot);
}

TEST_F(DoorbellTest, APageIsNotKeptOpenForEverForAStoreThatNeverLands) {
  if (!attach()) {
    GTEST_SKIP() << "userfaultfd is not available";
  }
  const std::vector<Doorbell> doorbells = {{page, 0}};
  watch.cool_down(doorbells);
  ring(7, page->slot(7).load());
  ASSERT_TRUE(page->hot);
  EXPECT_TRUE(eventually([&] {
    watch.cool_down(doorbells);
    return !page->hot;
  }));
}

TEST_F(DoorbellTest, ARemovedCallbackIsNotCalled) {
  watch.remove_callback(callback);
  std::atomic<u32> other{0};
  watch.on_ring([&] { ++other; });
  ring(0, 1);
  EXPECT_TRUE(eventually([&] { return other > 0; }));
  EXPECT_EQ(rings, 0u);
}

}  // namespace
}  // namespace vgpu::device::test
