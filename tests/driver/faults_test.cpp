// What happens to a process whose GPU work goes wrong.
#include <fcntl.h>
#include <unistd.h>

#include "driver/driver_support.h"

namespace vgpu::driver {
namespace {

constexpr u64 kNowhere = 0x123456789000;
constexpr u64 kViolation = abi::ec_mask(abi::ec_device_memory_violation);

class Faults : public DriverTest {
 protected:
  // Rings the queue with one packet.
  static void submit(const TestQueue& queue, u16 header, u64 completion_signal) {
    u8* packet = queue.ring.as<u8>();
    std::memset(packet, 0, 64);
    std::memcpy(packet + 56, &completion_signal, sizeof(u64));
    std::atomic_ref<u16>(*reinterpret_cast<u16*>(packet)).store(header, std::memory_order_release);
    std::atomic_ref<u64>(queue.pointers.as<u64>()[7]).store(1, std::memory_order_release);
    queue.doorbell->store(0, std::memory_order_release);
  }
  static constexpr u16 kBarrierAnd = 3 | 1 << 8 | 2 << 9 | 2 << 11;

  static abi::MemoryExceptionData wait_for_fault(Client& client, u32 event) {
    abi::EventData data = {};
    data.event_id = event;
    abi::WaitEventsArgs args = {};
    args.events_ptr = reinterpret_cast<u64>(&data);
    args.num_events = 1;
    args.timeout = 60'000;
    EXPECT_EQ(client.call(abi::kfd_wait_events, args), 0);
    EXPECT_EQ(args.wait_result, abi::wait_complete);
    return data.memory_exception_data;
  }
};

TEST_F(Faults, WildAddressFiresTheMemoryEventAndStopsTheProcessAlone) {
  Client culprit(*driver), other(*driver);
  const u32 event = culprit.create_event(abi::event_memory);
  const TestQueue queue = culprit.create_queue(), second = culprit.create_queue();
  const TestQueue innocent = other.create_queue();
  submit(queue, kBarrierAnd, kNowhere);
  const abi::MemoryExceptionData fault = wait_for_fault(culprit, event);
  EXPECT_EQ(fault.va, kNowhere);
  EXPECT_EQ(fault.failure.not_present, 1u);
  EXPECT_EQ(fault.gpu_id, culprit.gpu_id());
  EXPECT_TRUE(eventually([&] { return state_of(culprit.pid(), second.id) == "evicted"; }));
  EXPECT_TRUE(eventually([&] { return state_of(other.pid(), innocent.id) == "mapped"; }));
}

TEST_F(Faults, AFaultIsAnSmiEvent) {
  Client client(*driver);
  abi::SmiEventsArgs args = {.gpuid = client.gpu_id(), .anon_fd = 0};
  Caller caller = client.make_caller();
  ASSERT_EQ(client.call_as(caller, client.file(), abi::kfd_smi_events, args), 0);
  const u64 mask = abi::smi_mask(abi::smi_vmfault);
  ASSERT_EQ(write(caller.reply_fd.get(), &mask, sizeof(mask)), 8);
  const u32 event = client.create_event(abi::event_memory);
  submit(client.create_queue(), kBarrierAnd, kNowhere);
  wait_for_fault(client, event);
  char line[128] = {};
  ASSERT_GT(::read(caller.reply_fd.get(), line, sizeof(line) - 1), 0);
  unsigned pid = 0;
  ASSERT_EQ(sscanf(line, "1 %x:", &pid), 1) << line;
  EXPECT_EQ(pid, static_cast<unsigned>(client.pid()));
}

TEST_F(Faults, TheDebuggerMayHearOfItFirst) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  Client self(*driver, getpid());
  abi::DbgTrapArgs args = {};
  args.pid = static_cast<u32>(getpid());
  args.op = abi::dbg_enable;
  args.enable.exception_mask = kViolation;
  Caller caller = self.make_caller();
  caller.passed_fd.reset(dup(write_end.get()));
  ASSERT_EQ(self.call_as(caller, self.file(), abi::kfd_dbg_trap, args), 0);
  const u32 event = self.create_event(abi::event_memory);
  const TestQueue queue = self.create_queue();
  submit(queue, kBarrierAnd, kNowhere);
  char byte = 0;
  ASSERT_TRUE(eventually([&] { return ::read(read_end.get(), &byte, 1) == 1; }));

  args = {};
  args.pid = static_cast<u32>(getpid());
  args.op = abi::dbg_query_exception_info;
  abi::MemoryExceptionData fault = {};
  args.query_exception_info.info_ptr = reinterpret_cast<u64>(&fault);
  args.query_exception_info.info_size = sizeof(fault);
  args.query_exception_info.source_id = self.gpu_id();
  args.query_exception_info.exception_code = abi::ec_device_memory_violation;
  EXPECT_EQ(self.call(abi::kfd_dbg_trap, args), 0);
  EXPECT_EQ(args.query_exception_info.info_size, sizeof(fault));
  EXPECT_EQ(fault.va, kNowhere);

  // It passes the fault on to the runtime.
  args = {};
  args.pid = static_cast<u32>(getpid());
  args.op = abi::dbg_send_runtime_event;
  args.send_runtime_event.exception_mask = kViolation;
  args.send_runtime_event.gpu_id = self.gpu_id();
  EXPECT_EQ(self.call(abi::kfd_dbg_trap, args), 0);
  EXPECT_EQ(wait_for_fault(self, event).va, kNowhere);
}

TEST_F(Faults, DroppedDoorbellIsNotSeenUntilTheNextMap) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  const TestBuffer signal = client.allocate(4096);
  signal.as<i64>()[1] = 1;
  ASSERT_TRUE(eventually([&] { return state_of(client.pid(), queue.id) == "mapped"; }));
  ASSERT_TRUE(driver->inject("drop-doorbell=1"));
  submit(queue, kBarrierAnd, signal.va);
  const auto value = [&] { return std::atomic_ref<i64>(signal.as<i64>()[1]).load(); };
  usleep(50'000);  // time enough for a device that did hear it
  EXPECT_EQ(value(), 1);
  // The write index is read again when the queue is mapped.
  EXPECT_EQ(client.update_queue(queue, 100), 0);
  EXPECT_TRUE(eventually([&] { return value() == 0; }));
}

}  // namespace
}  // namespace vgpu::driver
