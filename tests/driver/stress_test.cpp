// Everything at once from many threads: nothing may deadlock, race or be left behind. Most useful
// under ThreadSanitizer.
#include <fcntl.h>

#include <random>
#include <thread>

#include "driver/driver_support.h"

namespace vgpu::driver {
namespace {

class Stress : public DriverTest {
 protected:
  void SetUp() override {
    DriverConfig config = small();
    config.gpus = 2;
    config.gpu.hqds = 3;
    start(config);
  }

  // A process that makes, changes and destroys queues on both GPUs.
  void queue_user(unsigned seed, int rounds) {
    std::mt19937 random(seed);
    for (int round = 0; round < rounds; ++round) {
      Client client(*driver);
      std::vector<TestQueue> queues;
      for (int i = 0; i < 3; ++i) {
        const u32 type = random() % 3 ? abi::queue_type_compute_aql : abi::queue_type_sdma;
        queues.push_back(client.create_queue(type, random() % 16, random() % 2));
      }
      for (int i = 0; i < 10; ++i) {
        const TestQueue& queue = queues[random() % queues.size()];
        EXPECT_EQ(client.update_queue(queue, random() % 2 ? 100 : 0, random() % 16), 0);
      }
      if (random() % 2) {
        EXPECT_EQ(client.destroy_queue(queues[0].id), 0);
      }
    }
  }

  void evictor(const std::atomic<bool>& stop, pid_t pid) {
    const std::string name = std::to_string(pid);
    while (!stop) {
      EXPECT_TRUE(driver->inject("evict=" + name));
      EXPECT_TRUE(driver->inject("restore=" + name));
    }
  }

  void onlooker(const std::atomic<bool>& stop) {
    while (!stop) {
      driver->stats();
      for (const char* file : {"mqds", "hqds", "rls"}) {
        EXPECT_TRUE(driver->read_file(std::string("/sys/kernel/debug/kfd/") + file));
      }
    }
  }

  // Suspends and resumes its own queues, and destroys one that is suspended now and then.
  void self_debugger(Client& self, int rounds) {
    const u32 pid = static_cast<u32>(getpid());
    for (int round = 0; round < rounds; ++round) {
      const u32 id = self.create_queue(abi::queue_type_compute_aql, 7, round % 2).id;
      std::vector<abi::QueueSnapshotEntry> entries(64);
      abi::DbgTrapArgs args = {};
      args.pid = pid;
      args.op = abi::dbg_get_queue_snapshot;
      args.queue_snapshot.exception_mask = ~u64{0};
      args.queue_snapshot.snapshot_buf_ptr = reinterpret_cast<u64>(entries.data());
      args.queue_snapshot.count = 64;
      args.queue_snapshot.entry_size = sizeof(abi::QueueSnapshotEntry);
      EXPECT_EQ(self.call(abi::kfd_dbg_trap, args), 0);
      u32 array = id;
      args = {};
      args.pid = pid;
      args.op = abi::dbg_suspend_queues;
      args.suspend_queues.queue_array_ptr = reinterpret_cast<u64>(&array);
      args.suspend_queues.num_queues = 1;
      EXPECT_EQ(self.call(abi::kfd_dbg_trap, args), 1);
      std::thread destroyer([&] { EXPECT_EQ(self.destroy_queue(id), 0); });
      args = {};
      args.pid = pid;
      args.op = abi::dbg_resume_queues;
      EXPECT_GE(self.call(abi::kfd_dbg_trap, args), 0);
      destroyer.join();
    }
  }
};

TEST_F(Stress, EverythingAtOnce) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  Client self(*driver, getpid());
  abi::RuntimeEnableArgs runtime = {.r_debug = 0, .mode_mask = 1, .capabilities_mask = 0};
  ASSERT_EQ(self.call(abi::kfd_runtime_enable, runtime), 0);
  abi::DbgTrapArgs enable = {};
  enable.pid = static_cast<u32>(getpid());
  enable.enable.exception_mask = ~u64{0};
  Caller caller = self.make_caller();
  caller.passed_fd.reset(dup(write_end.get()));
  ASSERT_EQ(self.call_as(caller, self.file(), abi::kfd_dbg_trap, enable), 0);

  Client evicted(*driver);
  evicted.create_queue();
  std::atomic<bool> stop = false;
  std::vector<std::thread> background, workers;
  background.emplace_back([&] { evictor(stop, evicted.pid()); });
  background.emplace_back([&] { onlooker(stop); });
  for (unsigned seed = 1; seed <= 3; ++seed) {
    workers.emplace_back([&, seed] { queue_user(seed, 8); });
  }
  workers.emplace_back([&] { self_debugger(self, 20); });
  for (std::thread& thread : workers) {
    thread.join();
  }
  stop = true;
  for (std::thread& thread : background) {
    thread.join();
  }
  self.exit();
  evicted.exit();
  EXPECT_TRUE(driver->stats().queues.empty());
  for (const GpuInfo& gpu : driver->stats().gpus) {
    EXPECT_EQ(gpu.vram_used, 0u);
  }
}

// Processes that end while other threads of theirs are in the middle of calls.
TEST_F(Stress, ExitInTheMiddleOfCalls) {
  for (int round = 0; round < 10; ++round) {
    Client client(*driver);
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        while (!stop) {
          if (i % 2) {
            abi::CreateEventArgs event = {};
            client.call(abi::kfd_create_event, event);
            abi::EventData data = {};
            data.event_id = event.event_id;
            abi::WaitEventsArgs wait = {};
            wait.events_ptr = reinterpret_cast<u64>(&data);
            wait.num_events = 1;
            wait.timeout = abi::kEventTimeoutInfinite;
            client.call(abi::kfd_wait_events, wait);
          } else {
            abi::AllocMemoryArgs args = {};
            args.size = 4096;
            args.gpu_id = client.gpu_id();
            args.flags = abi::alloc_vram;
            client.call(abi::kfd_alloc_memory_of_gpu, args);
          }
        }
      });
    }
    client.acquire_vm();
    EXPECT_TRUE(eventually([&] { return driver->stats().gpus[0].vram_used > 0; }));
    client.exit();
    stop = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(driver->stats().gpus[0].vram_used, 0u);
  }
}

}  // namespace
}  // namespace vgpu::driver
