// CREATE_EVENT to WAIT_EVENTS.
#include <future>
#include <thread>

#include "driver/driver_support.h"
#include "driver/events.h"

namespace vgpu::driver {
namespace {

class EventIoctls : public DriverTest {
 protected:
  struct Waited {
    int result;
    u32 wait_result;
    std::vector<abi::EventData> data;
  };
  static Waited wait(Client& client, std::vector<u32> ids, bool all, u32 timeout_ms) {
    std::vector<abi::EventData> data(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      data[i].event_id = ids[i];
    }
    abi::WaitEventsArgs args = {};
    args.events_ptr = reinterpret_cast<u64>(data.data());
    args.num_events = static_cast<u32>(ids.size());
    args.wait_for_all = all;
    args.timeout = timeout_ms;
    const int result = client.call(abi::kfd_wait_events, args);
    return {result, args.wait_result, std::move(data)};
  }
  static int set(Client& client, u32 id) {
    abi::EventIdArgs args = {id, 0};
    return client.call(abi::kfd_set_event, args);
  }
  static int reset(Client& client, u32 id) {
    abi::EventIdArgs args = {id, 0};
    return client.call(abi::kfd_reset_event, args);
  }
  static int destroy(Client& client, u32 id) {
    abi::EventIdArgs args = {id, 0};
    return client.call(abi::kfd_destroy_event, args);
  }
};

TEST_F(EventIoctls, SignalIdsStartAtOneAndAreReused) {
  Client client(*driver);
  EXPECT_EQ(client.create_event(), 1u);
  EXPECT_EQ(client.create_event(), 2u);
  EXPECT_EQ(destroy(client, 1), 0);
  EXPECT_EQ(client.create_event(), 1u);
  EXPECT_GE(client.create_event(abi::event_memory), 0x40000000u);
  Client other(*driver);
  EXPECT_EQ(other.create_event(), 1u) << "ids are per process";
}

TEST_F(EventIoctls, SignalEventsHaveASlot) {
  Client client(*driver);
  const TestBuffer page = client.allocate(8 * 4096);
  abi::CreateEventArgs args = {};
  args.event_page_offset = page.handle;
  ASSERT_EQ(client.call(abi::kfd_create_event, args), 0);
  EXPECT_NE(args.event_page_offset, 0u);
  EXPECT_EQ(args.event_slot_index, args.event_id);
  EXPECT_EQ(args.event_trigger_data, args.event_id);
  EXPECT_EQ(page.as<u64>()[args.event_id], ~u64{0}) << "unsignalled";
  args.event_page_offset = page.handle;
  EXPECT_EQ(client.call(abi::kfd_create_event, args), -EINVAL) << "only once";
}

TEST_F(EventIoctls, BadEventPages) {
  Client client(*driver);
  const TestBuffer small_page = client.allocate(4096);
  abi::CreateEventArgs args = {};
  args.event_page_offset = small_page.handle;
  EXPECT_EQ(client.call(abi::kfd_create_event, args), -EINVAL);
  args.event_page_offset = 0x77;
  EXPECT_EQ(client.call(abi::kfd_create_event, args), -EINVAL);
}

TEST_F(EventIoctls, LimitDependsOnTheEventPage) {
  Client client(*driver);
  for (u32 i = 1; i < 256; ++i) {
    ASSERT_EQ(client.create_event(), i);
  }
  abi::CreateEventArgs args = {};
  EXPECT_EQ(client.call(abi::kfd_create_event, args), -ENOSPC);
  const TestBuffer page = client.allocate(8 * 4096);
  args.event_page_offset = page.handle;
  ASSERT_EQ(client.call(abi::kfd_create_event, args), 0);
  EXPECT_EQ(args.event_id, 256u);
  for (u32 i = 257; i < 4096; ++i) {
    ASSERT_EQ(client.create_event(), i);
  }
  args.event_page_offset = 0;
  EXPECT_EQ(client.call(abi::kfd_create_event, args), -ENOSPC);
}

TEST_F(EventIoctls, UnknownIdsAreInvalid) {
  Client client(*driver);
  EXPECT_EQ(set(client, 0), -EINVAL);
  EXPECT_EQ(set(client, 9), -EINVAL);
  EXPECT_EQ(reset(client, 9), -EINVAL);
  EXPECT_EQ(destroy(client, 9), -EINVAL);
  EXPECT_EQ(wait(client, {9}, false, 0).result, -EINVAL);
  EXPECT_EQ(wait(client, {9}, false, 0).wait_result, abi::wait_fail);
  const u32 memory = client.create_event(abi::event_memory);
  EXPECT_EQ(set(client, memory), -EINVAL) << "the CPU cannot set it";
  EXPECT_EQ(reset(client, memory), -EINVAL);
  abi::WaitEventsArgs args = {};
  args.num_events = 1;
  EXPECT_EQ(client.call(abi::kfd_wait_events, args), -EFAULT);
  args.num_events = 1u << 30;
  EXPECT_EQ(client.call(abi::kfd_wait_events, args), -ENOMEM);
}

TEST_F(EventIoctls, TimesOut) {
  Client client(*driver);
  const u32 event = client.create_event();
  for (const u32 ms : {0u, 1u, 20u}) {
    const Waited waited = wait(client, {event}, false, ms);
    EXPECT_EQ(waited.result, 0);
    EXPECT_EQ(waited.wait_result, abi::wait_timeout);
  }
}

TEST_F(EventIoctls, AutoResetIsTakenByOneWait) {
  Client client(*driver);
  const u32 event = client.create_event(abi::event_signal, true);
  EXPECT_EQ(set(client, event), 0);
  EXPECT_EQ(wait(client, {event}, false, 0).wait_result, abi::wait_complete);
  EXPECT_EQ(wait(client, {event}, false, 0).wait_result, abi::wait_timeout);
}

TEST_F(EventIoctls, ManualResetStaysSet) {
  Client client(*driver);
  const u32 event = client.create_event(abi::event_signal, false);
  EXPECT_EQ(set(client, event), 0);
  EXPECT_EQ(wait(client, {event}, false, 0).wait_result, abi::wait_complete);
  EXPECT_EQ(wait(client, {event}, false, 0).wait_result, abi::wait_complete);
  EXPECT_EQ(reset(client, event), 0);
  EXPECT_EQ(wait(client, {event}, false, 0).wait_result, abi::wait_timeout);
}

TEST_F(EventIoctls, AnyAndAll) {
  Client client(*driver);
  const u32 a = client.create_event(abi::event_signal, false);
  const u32 b = client.create_event(abi::event_signal, false);
  EXPECT_EQ(set(client, b), 0);
  EXPECT_EQ(wait(client, {a, b}, false, 0).wait_result, abi::wait_complete);
  EXPECT_EQ(wait(client, {a, b}, true, 0).wait_result, abi::wait_timeout);
  EXPECT_EQ(set(client, a), 0);
  EXPECT_EQ(wait(client, {a, b}, true, 0).wait_result, abi::wait_complete);
}

TEST_F(EventIoctls, AgeTellsAnEventThatWasMissed) {
  Client client(*driver);
  const u32 event = client.create_event(abi::event_signal, true);
  abi::EventData data = {};
  data.event_id = event;
  data.last_event_age = 1;  // as a new event has
  abi::WaitEventsArgs args = {};
  args.events_ptr = reinterpret_cast<u64>(&data);
  args.num_events = 1;
  EXPECT_EQ(client.call(abi::kfd_wait_events, args), 0);
  EXPECT_EQ(args.wait_result, abi::wait_timeout);
  EXPECT_EQ(set(client, event), 0);
  EXPECT_EQ(wait(client, {event}, false, 0).wait_result, abi::wait_complete) << "takes it";
  EXPECT_EQ(client.call(abi::kfd_wait_events, args), 0);
  EXPECT_EQ(args.wait_result, abi::wait_complete) << "but the age has moved on";
  EXPECT_EQ(data.last_event_age, 2u);
}

TEST_F(EventIoctls, WakesABlockedWaiter) {
  Client client(*driver);
  const u32 event = client.create_event();
  auto waiter = std::async(std::launch::async, [&] {
    return wait(client, {event}, false, abi::kEventTimeoutInfinite).wait_result;
  });
  EXPECT_EQ(set(client, event), 0);
  EXPECT_EQ(waiter.get(), abi::wait_complete);
}

TEST_F(EventIoctls, DestroyedEventFailsItsWaiters) {
  Client client(*driver);
  const u32 a = client.create_event(), b = client.create_event();
  std::atomic<bool> started = false;
  auto waiter = std::async(std::launch::async, [&] {
    started = true;
    return wait(client, {a, b}, true, abi::kEventTimeoutInfinite);
  });
  EXPECT_TRUE(eventually([&] { return started.load(); }));
  EXPECT_EQ(set(client, a), 0);
  EXPECT_EQ(destroy(client, a), 0) << "also one that has fired already";
  const Waited waited = waiter.get();
  // Either the wait saw the event go (EIO), or it began afterwards (EINVAL).
  EXPECT_TRUE(waited.result == -EIO || waited.result == -EINVAL) << waited.result;
  EXPECT_EQ(waited.wait_result, abi::wait_fail);
}

TEST_F(EventIoctls, ManyThreadsEachGetTheirSignals) {
  Client client(*driver);
  constexpr int kThreads = 8, kRounds = 500;
  std::vector<u32> ping, pong;
  for (int i = 0; i < kThreads; ++i) {
    ping.push_back(client.create_event());
    pong.push_back(client.create_event());
  }
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  const auto await = [&](u32 event) {
    if (wait(client, {event}, false, 60'000).wait_result != abi::wait_complete) {
      ++failures;
    }
  };
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        set(client, ping[i]);
        await(pong[i]);
      }
    });
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        await(ping[i]);
        set(client, pong[i]);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, 0);
}

TEST_F(EventIoctls, ExitAbandonsBlockedWaits) {
  Client client(*driver);
  const u32 event = client.create_event();
  auto waiter = std::async(std::launch::async, [&] {
    return wait(client, {event}, false, abi::kEventTimeoutInfinite).result;
  });
  client.exit();
  const int result = waiter.get();
  EXPECT_TRUE(result == -EINTR || result == -EBADF) << result;
}

TEST_F(EventIoctls, ShutDownAbandonsBlockedWaits) {
  Client client(*driver);
  const u32 event = client.create_event();
  auto waiter = std::async(std::launch::async, [&] {
    return wait(client, {event}, false, abi::kEventTimeoutInfinite).result;
  });
  driver->shut_down();
  EXPECT_EQ(waiter.get(), -ENODEV);
}

TEST(EventsFromTheGpu, FaultDataReachesTheWaiter) {
  Events events;
  abi::CreateEventArgs args = {};
  args.event_type = abi::event_memory;
  args.auto_reset = 1;
  ASSERT_EQ(events.create(args), 0);
  abi::MemoryExceptionData fault = {};
  fault.failure.not_present = 1;
  fault.va = 0xdead000;
  fault.gpu_id = 77;
  events.signal_memory_exception(fault);
  abi::EventData data = {};
  data.event_id = args.event_id;
  u32 result = 9;
  EXPECT_EQ(events.wait({&data, 1}, false, 0, &result), 0);
  EXPECT_EQ(result, abi::wait_complete);
  EXPECT_EQ(data.memory_exception_data.va, 0xdead000u);
  EXPECT_EQ(data.memory_exception_data.failure.not_present, 1u);
  EXPECT_EQ(data.memory_exception_data.gpu_id, 77u);
}

TEST(EventsFromTheGpu, InterruptWithoutIdLooksAtTheSlots) {
  Events events;
  std::vector<u64> slots(abi::kSignalEventLimit);
  auto page = std::make_shared<Buffer>();
  page->host = reinterpret_cast<u8*>(slots.data());
  page->size = slots.size() * sizeof(u64);
  ASSERT_EQ(events.set_page(page), 0);
  abi::CreateEventArgs a = {}, b = {};
  ASSERT_EQ(events.create(a), 0);
  ASSERT_EQ(events.create(b), 0);
  slots[b.event_id] = b.event_id;  // the mailbox store
  events.signal_from_gpu(0);
  abi::EventData data = {};
  u32 result = 9;
  data.event_id = a.event_id;
  events.wait({&data, 1}, false, 0, &result);
  EXPECT_EQ(result, abi::wait_timeout);
  data.event_id = b.event_id;
  events.wait({&data, 1}, false, 0, &result);
  EXPECT_EQ(result, abi::wait_complete);
  EXPECT_EQ(slots[b.event_id], ~u64{0}) << "acknowledged";
}

}  // namespace
}  // namespace vgpu::driver
