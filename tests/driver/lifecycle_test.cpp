// The end of processes, of the scheduler and of the driver; injected faults.
#include <future>
#include <thread>

#include "driver/driver_support.h"
#include "driver/tracee.h"

namespace vgpu::driver {
namespace {

using Lifecycle = DriverTest;

TEST_F(Lifecycle, ExitTakesEverythingBack) {
  Client client(*driver), other(*driver);
  client.create_queue();
  client.create_queue(abi::queue_type_sdma);
  client.allocate(8 << 20, abi::alloc_vram);
  const TestQueue kept = other.create_queue();
  client.exit();
  const Stats stats = driver->stats();
  ASSERT_EQ(stats.queues.size(), 1u);
  EXPECT_EQ(stats.queues[0].pid, other.pid());
  EXPECT_EQ(stats.gpus[0].vram_used, 4096u) << "the other's end-of-pipe buffer";
  EXPECT_TRUE(eventually([&] { return state_of(other.pid(), kept.id) == "mapped"; }));
  abi::GetVersionArgs args = {};
  EXPECT_EQ(client.call(abi::kfd_get_version, args), -EBADF) << "its file is dead";
}

TEST_F(Lifecycle, ExitTwiceAndOfStrangersIsHarmless) {
  Client client(*driver);
  client.exit();
  client.exit();
  driver->process_exited(1);
}

TEST_F(Lifecycle, SamePidCanComeAgain) {
  Client first(*driver);
  first.create_queue();
  first.exit();
  Client second(*driver, first.pid());
  EXPECT_NE(second.file().inode, first.file().inode);
  EXPECT_EQ(second.create_queue().id, 0u);
}

TEST_F(Lifecycle, DeathIsNoticedWithoutTheServer) {
  Child child;
  Client client(*driver, child.pid());
  client.create_queue();
  child.kill();
  EXPECT_TRUE(eventually([&] { return driver->stats().queues.empty(); }));
}

TEST_F(Lifecycle, ProcessesComeAndGoWhileOthersWork) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        Client client(*driver);
        const TestQueue queue = client.create_queue();
        client.allocate(1 << 20, abi::alloc_vram);
        EXPECT_EQ(client.update_queue(queue, 0), 0);
        EXPECT_EQ(client.update_queue(queue, 100), 0);
        client.create_event();
        if (round % 2) {
          EXPECT_EQ(client.destroy_queue(queue.id), 0);
        }
        driver->stats();
        EXPECT_TRUE(driver->read_file("/sys/kernel/debug/kfd/mqds"));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(driver->stats().queues.empty());
  EXPECT_EQ(driver->stats().gpus[0].vram_used, 0u);
}

TEST_F(Lifecycle, CallsAfterShutDownFail) {
  Client client(*driver);
  driver->shut_down();
  abi::GetVersionArgs args = {};
  EXPECT_EQ(client.call(abi::kfd_get_version, args), -ENODEV);
  EXPECT_FALSE(driver->open_kfd(5'999'998));
}

TEST_F(Lifecycle, ManyPasidsAreDistinct) {
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::string> pasids;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<Client>(*driver));
    pasids.push_back(
        read("/sys/class/kfd/kfd/proc/" + std::to_string(clients.back()->pid()) + "/pasid"));
  }
  std::sort(pasids.begin(), pasids.end());
  EXPECT_EQ(std::unique(pasids.begin(), pasids.end()), pasids.end());
}

// ---- a scheduler that does not answer ----

class Hang : public DriverTest {
 protected:
  void SetUp() override {
    DriverConfig config = small();
    config.hws_timeout_ms = 50;
    start(config);
  }
  // What a HW exception event says, waiting for it.
  static abi::HwExceptionData wait_for_reset(Client& client, u32 event) {
    abi::EventData data = {};
    data.event_id = event;
    abi::WaitEventsArgs args = {};
    args.events_ptr = reinterpret_cast<u64>(&data);
    args.num_events = 1;
    args.timeout = 60'000;
    EXPECT_EQ(client.call(abi::kfd_wait_events, args), 0);
    EXPECT_EQ(args.wait_result, abi::wait_complete);
    return data.hw_exception_data;
  }
};

TEST_F(Hang, EveryProcessIsTold) {
  Client culprit(*driver), bystander(*driver);
  const TestQueue queue = culprit.create_queue();
  bystander.create_queue();
  const u32 event = bystander.create_event(abi::event_hw_exception);
  ASSERT_TRUE(driver->inject("hws-hang"));
  EXPECT_EQ(culprit.update_queue(queue, 0), -ETIME);
  const abi::HwExceptionData data = wait_for_reset(bystander, event);
  EXPECT_EQ(data.gpu_id, bystander.gpu_id());
  EXPECT_EQ(data.memory_lost, 1u);
  EXPECT_EQ(data.reset_cause, abi::kResetCauseHang);
  // Afterwards the GPU works again.
  EXPECT_TRUE(eventually([&] { return culprit.update_queue(queue, 100) == 0; }));
  EXPECT_TRUE(eventually([&] { return state_of(culprit.pid(), queue.id) == "mapped"; }));
}

TEST_F(Hang, DebugfsCanCauseIt) {
  Client client(*driver);
  client.create_queue();
  const u32 event = client.create_event(abi::event_hw_exception);
  EXPECT_FALSE(driver->write_file("/sys/kernel/debug/kfd/hang_hws", "12x"));
  EXPECT_FALSE(driver->write_file("/sys/kernel/debug/kfd/hang_hws", "1\n"));
  ASSERT_TRUE(
      driver->write_file("/sys/kernel/debug/kfd/hang_hws", std::to_string(client.gpu_id()) + "\n"));
  EXPECT_EQ(wait_for_reset(client, event).gpu_id, client.gpu_id());
}

TEST_F(Hang, ExitDuringAHangFinishes) {
  Client client(*driver), other(*driver);
  client.create_queue();
  const TestQueue queue = other.create_queue();
  ASSERT_TRUE(driver->inject("hws-hang"));
  client.exit();
  EXPECT_TRUE(eventually([&] { return other.update_queue(queue, 100) == 0; }));
}

TEST_F(Hang, DestroyDuringAHangStillDestroys) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  ASSERT_TRUE(driver->inject("hws-hang"));
  EXPECT_EQ(client.destroy_queue(queue.id), -ETIME);
  EXPECT_EQ(state_of(client.pid(), queue.id), "none");
}

// ---- inject ----

TEST_F(Lifecycle, UnmapDelayHoldsUpOneGpuOnly) {
  Client client(*driver), other(*driver);
  const TestQueue queue = client.create_queue();
  const u32 event = other.create_event();
  ASSERT_TRUE(driver->inject("unmap-delay=200ms"));
  std::atomic<bool> done = false;
  auto updated = std::async(std::launch::async, [&] {
    const int result = client.update_queue(queue, 100, 3);
    done = true;
    return result;
  });
  // Another process's event calls go on meanwhile.
  int calls = 0;
  while (!done) {
    abi::EventIdArgs args = {event, 0};
    ASSERT_EQ(other.call(abi::kfd_set_event, args), 0);
    ++calls;
  }
  EXPECT_EQ(updated.get(), 0);
  EXPECT_GT(calls, 1);
  ASSERT_TRUE(driver->inject("clear"));
}

TEST_F(Lifecycle, UnknownFaultsAreRefusedWithAList) {
  for (const char* fault : {"", "nonsense", "clear=1", "unmap-delay=20", "unmap-delay=-1ms",
                            "vram-full", "vram-full=maybe", "evict", "evict=x", "suspend-fails=x",
                            "drop-doorbell=1x", "hws-hang=1"}) {
    const Status status = driver->inject(fault);
    ASSERT_FALSE(status) << fault;
    EXPECT_EQ(status.error().code, EINVAL) << fault;
    EXPECT_NE(status.error().hint.find("unmap-delay"), std::string::npos);
  }
  EXPECT_EQ(driver->inject("evict=5999997").error().code, ESRCH);
  for (const char* fault : {"drop-doorbell", "drop-doorbell=3", "suspend-fails=2",
                            "unmap-delay=1us", "unmap-delay=0.5ms", "clear"}) {
    EXPECT_TRUE(driver->inject(fault)) << fault;
  }
}

TEST_F(Lifecycle, RestoreWithoutEvictionChangesNothing) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  const std::string pid = std::to_string(client.pid());
  ASSERT_TRUE(driver->inject("restore=" + pid));
  ASSERT_TRUE(driver->inject("evict=" + pid));
  EXPECT_EQ(state_of(client.pid(), queue.id), "evicted");
}

}  // namespace
}  // namespace vgpu::driver
