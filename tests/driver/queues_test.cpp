// Queues: creation, ids, doorbells, updates, the run list.
#include "driver/driver_support.h"

namespace vgpu::driver {
namespace {

using Queues = DriverTest;

TEST_F(Queues, IdsArePerProcessFromZeroAndReused) {
  Client a(*driver), b(*driver);
  EXPECT_EQ(a.create_queue().id, 0u);
  EXPECT_EQ(a.create_queue().id, 1u);
  EXPECT_EQ(b.create_queue().id, 0u);
  EXPECT_EQ(a.destroy_queue(0), 0);
  EXPECT_EQ(a.create_queue().id, 0u);
  EXPECT_EQ(a.create_queue().id, 2u);
  EXPECT_EQ(a.destroy_queue(7), -EINVAL);
}

TEST_F(Queues, DoorbellsAreApartAndStartUnrung) {
  Client client(*driver);
  const TestQueue first = client.create_queue(), second = client.create_queue();
  EXPECT_EQ(first.doorbell_offset & 0xffffffff, 0u) << "libhsakmt 5.2.3 splits at 32 bits";
  EXPECT_EQ(first.doorbell_offset >> 32, second.doorbell_offset >> 32);
  EXPECT_NE(first.doorbell, second.doorbell);
  EXPECT_EQ(first.doorbell->load(), ~u64{0}) << "0 would ring packet 0";
  EXPECT_EQ(second.doorbell->load(), ~u64{0});
}

TEST_F(Queues, BadArguments) {
  Client client(*driver);
  TestQueue queue;
  const abi::CreateQueueArgs good = client.queue_args(queue, abi::queue_type_compute_aql);
  const auto create = [&](auto change) {
    abi::CreateQueueArgs args = good;
    change(args);
    return client.call(abi::kfd_create_queue, args);
  };
  constexpr u64 kKernelAddress = 0xffff800000000000;
  EXPECT_EQ(create([](auto& a) { a.queue_percentage = 101; }), -EINVAL);
  EXPECT_EQ(create([](auto& a) { a.queue_priority = 16; }), -EINVAL);
  EXPECT_EQ(create([](auto& a) { a.ring_size = 4095; }), -EINVAL);
  EXPECT_EQ(create([](auto& a) { a.ring_base_address = kKernelAddress; }), -EFAULT);
  EXPECT_EQ(create([](auto& a) { a.read_pointer_address = kKernelAddress; }), -EFAULT);
  EXPECT_EQ(create([](auto& a) { a.write_pointer_address = kKernelAddress; }), -EFAULT);
  EXPECT_EQ(create([](auto& a) { a.eop_buffer_address = kKernelAddress; }), -EFAULT);
  EXPECT_EQ(create([](auto& a) { a.ctx_save_restore_address = kKernelAddress; }), -EFAULT);
  EXPECT_EQ(create([](auto& a) { a.queue_type = 5; }), -524) << "the kernel's ENOTSUPP";
  EXPECT_EQ(create([](auto& a) { a.gpu_id = 1; }), -EINVAL);
  EXPECT_EQ(create([](auto& a) { a.queue_type = abi::queue_type_sdma_xgmi; }), -ENOMEM)
      << "no such engine";
  EXPECT_EQ(create([](auto& a) {
              a.queue_type = abi::queue_type_sdma_by_engine;
              a.sdma_engine_id = 2;
            }),
            -EINVAL);
  EXPECT_EQ(create([](auto&) {}), 0) << "and the same without a mistake";
}

TEST_F(Queues, BuffersMustBeMappedJustSo) {
  Client client(*driver);
  TestQueue queue;
  const abi::CreateQueueArgs good = client.queue_args(queue, abi::queue_type_compute_aql);
  const auto create = [&](auto change) {
    abi::CreateQueueArgs args = good;
    change(args);
    return client.call(abi::kfd_create_queue, args);
  };
  EXPECT_EQ(create([](auto& a) { a.ring_size = 2048; }), -EINVAL) << "half of the mapping";
  EXPECT_EQ(create([](auto& a) { a.ring_base_address = 0x10000; }), -EINVAL);
  EXPECT_EQ(create([](auto& a) { a.write_pointer_address = 0x10000; }), -EINVAL);
  EXPECT_EQ(create([](auto& a) { a.eop_buffer_size = 2048; }), -EINVAL);
  EXPECT_EQ(create([](auto& a) { a.ctl_stack_size += 4096; }), -EINVAL);
  EXPECT_EQ(create([](auto& a) { a.ctx_save_restore_size -= 4096; }), -EINVAL);
  EXPECT_EQ(create([](auto& a) { a.ctx_save_restore_address = 0; }), -EINVAL);
  ASSERT_EQ(create([](auto&) {}), 0);
  // And stay mapped while the queue lives.
  u32 gpu = client.gpu_id();
  abi::MapMemoryArgs unmap = {};
  unmap.handle = queue.ring.handle;
  unmap.device_ids_array_ptr = reinterpret_cast<u64>(&gpu);
  unmap.n_devices = 1;
  EXPECT_EQ(client.call(abi::kfd_unmap_memory_from_gpu, unmap), -EBUSY);
  EXPECT_EQ(client.destroy_queue(0), 0);
  EXPECT_EQ(client.call(abi::kfd_unmap_memory_from_gpu, unmap), 0);
}

TEST_F(Queues, OldKernelDoesNotLookAtTheBuffers) {
  DriverConfig config = small();
  config.kfd = KfdVersion::v1_11;
  start(config);
  Client client(*driver);
  TestQueue queue;
  abi::CreateQueueArgs args = client.queue_args(queue, abi::queue_type_compute_aql);
  args.ctl_stack_size = 0x2000;
  EXPECT_EQ(client.call(abi::kfd_create_queue, args), 0);
  args.queue_type = abi::queue_type_sdma_by_engine;
  EXPECT_EQ(client.call(abi::kfd_create_queue, args), -524);
}

TEST_F(Queues, LimitPerProcessAndGpu) {
  Client client(*driver);
  TestQueue first;
  abi::CreateQueueArgs args = client.queue_args(first, abi::queue_type_compute_aql);
  args.queue_percentage = 0;  // not active: cheap
  for (u32 i = 0; i < 127; ++i) {
    ASSERT_EQ(client.call(abi::kfd_create_queue, args), 0);
  }
  EXPECT_EQ(client.call(abi::kfd_create_queue, args), -ENOSPC);
  Client other(*driver);
  EXPECT_EQ(other.create_queue().id, 0u) << "others still can";
}

TEST_F(Queues, SdmaSlotsRunOut) {
  Client client(*driver);
  TestQueue first;
  abi::CreateQueueArgs args = client.queue_args(first, abi::queue_type_sdma);
  for (u32 i = 0; i < 16; ++i) {
    ASSERT_EQ(client.call(abi::kfd_create_queue, args), 0) << i;
  }
  EXPECT_EQ(client.call(abi::kfd_create_queue, args), -ENOMEM);
  EXPECT_EQ(client.destroy_queue(3), 0);
  args.queue_type = abi::queue_type_sdma_by_engine;
  args.sdma_engine_id = 0;
  EXPECT_EQ(client.call(abi::kfd_create_queue, args), -ENOMEM) << "the free one is on engine 1";
  args.sdma_engine_id = 1;
  EXPECT_EQ(client.call(abi::kfd_create_queue, args), 0);
  EXPECT_EQ(args.queue_id, 3u);
}

TEST_F(Queues, IdleQueueWithASlotIsMapped) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  EXPECT_TRUE(eventually([&] { return state_of(client.pid(), queue.id) == "mapped"; }));
}

TEST_F(Queues, MoreQueuesThanSlotsWait) {
  DriverConfig config = small();
  config.gpu.hqds = 2;
  start(config);
  Client client(*driver);
  for (int i = 0; i < 5; ++i) {
    client.create_queue();
  }
  EXPECT_TRUE(eventually([&] {
    u32 mapped = 0, waiting = 0;
    for (const QueueInfo& queue : driver->stats().queues) {
      mapped += queue.state == "mapped";
      waiting += queue.state == "waiting";
    }
    return mapped == 2 && waiting == 3;
  }));
}

TEST_F(Queues, PercentageZeroStopsAQueue) {
  Client client(*driver);
  const TestQueue queue = client.create_queue(), other = client.create_queue();
  EXPECT_EQ(client.update_queue(queue, 0), 0);
  EXPECT_EQ(state_of(client.pid(), queue.id), "inactive");
  EXPECT_NE(state_of(client.pid(), other.id), "inactive");
  EXPECT_EQ(client.update_queue(queue, 1), 0) << "1 to 100 are all equal";
  EXPECT_NE(state_of(client.pid(), queue.id), "inactive");
}

TEST_F(Queues, RingAddressZeroDisables) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  abi::UpdateQueueArgs args = {};
  args.queue_id = queue.id;
  args.queue_percentage = 100;
  EXPECT_EQ(client.call(abi::kfd_update_queue, args), 0);
  EXPECT_EQ(state_of(client.pid(), queue.id), "inactive");
  EXPECT_EQ(client.update_queue(queue, 100), 0);
  EXPECT_NE(state_of(client.pid(), queue.id), "inactive");
  EXPECT_EQ(client.destroy_queue(queue.id), 0);
}

TEST_F(Queues, BadUpdates) {
  Client client(*driver);
  TestQueue queue = client.create_queue();
  EXPECT_EQ(client.update_queue(queue, 101), -EINVAL);
  EXPECT_EQ(client.update_queue(queue, 100, 16), -EINVAL);
  abi::UpdateQueueArgs args = {};
  args.queue_id = queue.id;
  args.queue_percentage = 100;
  args.ring_base_address = queue.args.ring_base_address;
  args.ring_size = 3000;
  EXPECT_EQ(client.call(abi::kfd_update_queue, args), -EINVAL);
  args.ring_size = 8192;
  EXPECT_EQ(client.call(abi::kfd_update_queue, args), -EFAULT) << "not the size of the mapping";
  args.ring_base_address = 0xffff800000000000;
  EXPECT_EQ(client.call(abi::kfd_update_queue, args), -EFAULT);
  queue.id = 55;
  EXPECT_EQ(client.update_queue(queue, 100), -EFAULT);
}

TEST_F(Queues, OnlyTheOwnerUpdates) {
  Client owner(*driver), other(*driver);
  const TestQueue queue = owner.create_queue();
  abi::UpdateQueueArgs args = {};
  args.queue_id = queue.id;
  EXPECT_EQ(other.call_on(owner.file(), abi::kfd_update_queue, args), -EBADF);
  EXPECT_EQ(other.call(abi::kfd_update_queue, args), -EFAULT) << "it has no such queue itself";
}

TEST_F(Queues, PriorityIsKept) {
  Client client(*driver);
  const TestQueue queue = client.create_queue(abi::queue_type_compute_aql, 15);
  EXPECT_EQ(driver->stats().queues[0].priority, 15u);
  EXPECT_EQ(client.update_queue(queue, 100, 0), 0);
  EXPECT_EQ(driver->stats().queues[0].priority, 0u);
}

TEST_F(Queues, EveryChangeOfOneQueueUnmapsAll) {
  Client a(*driver), b(*driver);
  const TestQueue queue = a.create_queue();
  b.create_queue();
  const u64 before_unmaps = unmaps(), before_lists = runlists();
  EXPECT_EQ(a.update_queue(queue, 100, 3), 0);
  EXPECT_EQ(unmaps(), before_unmaps + 1);
  EXPECT_EQ(runlists(), before_lists + 1);
}

TEST_F(Queues, NothingActiveSendsNoRunList) {
  Client client(*driver);
  TestQueue queue;
  abi::CreateQueueArgs args = client.queue_args(queue, abi::queue_type_compute_aql);
  args.queue_percentage = 0;
  ASSERT_EQ(client.call(abi::kfd_create_queue, args), 0);
  EXPECT_EQ(runlists(), 0u);
  EXPECT_EQ(client.destroy_queue(args.queue_id), 0);
  EXPECT_EQ(unmaps(), 0u);
}

TEST_F(Queues, CuMask) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  const u32 mask[2] = {1, 0};
  abi::SetCuMaskArgs args = {};
  args.queue_id = queue.id;
  args.cu_mask_ptr = reinterpret_cast<u64>(mask);
  args.num_cu_mask = 64;
  EXPECT_EQ(client.call(abi::kfd_set_cu_mask, args), 0);
  args.num_cu_mask = 33;
  EXPECT_EQ(client.call(abi::kfd_set_cu_mask, args), -EINVAL);
  args.num_cu_mask = 0;
  EXPECT_EQ(client.call(abi::kfd_set_cu_mask, args), -EINVAL);
  args.num_cu_mask = 32;
  args.queue_id = 9;
  EXPECT_EQ(client.call(abi::kfd_set_cu_mask, args), -EFAULT);
  args.queue_id = queue.id;
  args.cu_mask_ptr = 0;
  EXPECT_EQ(client.call(abi::kfd_set_cu_mask, args), -EFAULT);
}

TEST_F(Queues, GlobalWaveSyncGoesToOneQueuePerProcess) {
  Client client(*driver);
  const TestQueue a = client.create_queue(), b = client.create_queue();
  abi::AllocQueueGwsArgs args = {.queue_id = a.id, .num_gws = 0, .first_gws = 9, .pad = 0};
  EXPECT_EQ(client.call(abi::kfd_alloc_queue_gws, args), -EINVAL) << "nothing to give back";
  args.num_gws = 1;
  EXPECT_EQ(client.call(abi::kfd_alloc_queue_gws, args), 0);
  EXPECT_EQ(args.first_gws, 0u);
  args.queue_id = b.id;
  EXPECT_EQ(client.call(abi::kfd_alloc_queue_gws, args), -EBUSY);
  args.queue_id = 9;
  EXPECT_EQ(client.call(abi::kfd_alloc_queue_gws, args), -EINVAL);
  EXPECT_EQ(client.destroy_queue(a.id), 0);
  args.queue_id = b.id;
  EXPECT_EQ(client.call(abi::kfd_alloc_queue_gws, args), 0) << "its destruction gave it back";
}

TEST_F(Queues, WaveStateOfAStoppedQueueOnly) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  abi::GetQueueWaveStateArgs args = {};
  args.queue_id = queue.id;
  args.ctl_stack_address = queue.save_area.va;
  EXPECT_EQ(client.call(abi::kfd_get_queue_wave_state, args), -EINVAL) << "it is active";
  ASSERT_EQ(client.update_queue(queue, 0), 0);
  EXPECT_EQ(client.call(abi::kfd_get_queue_wave_state, args), 0);
  EXPECT_EQ(args.save_area_used_size, 0u) << "no wave was running";
  const auto* header = queue.save_area.as<abi::ContextSaveAreaHeader>();
  EXPECT_EQ(header->control_stack_offset, queue.args.ctl_stack_size);
  EXPECT_EQ(header->wave_state_offset, queue.args.ctl_stack_size);
  args.ctl_stack_address = 0;
  EXPECT_EQ(client.call(abi::kfd_get_queue_wave_state, args), -EFAULT);
  args.queue_id = 9;
  EXPECT_EQ(client.call(abi::kfd_get_queue_wave_state, args), -EFAULT);
  const TestQueue sdma = client.create_queue(abi::queue_type_sdma);
  args.queue_id = sdma.id;
  EXPECT_EQ(client.call(abi::kfd_get_queue_wave_state, args), -EINVAL);
}

// AQL barrier-AND packet with a completion signal: the whole path from doorbell to event.
TEST_F(Queues, PacketRunsAndRaisesItsEvent) {
  Client client(*driver);
  const TestBuffer page = client.allocate(8 * 4096);
  abi::CreateEventArgs event = {};
  event.event_page_offset = page.handle;
  event.auto_reset = 1;
  ASSERT_EQ(client.call(abi::kfd_create_event, event), 0);
  const TestBuffer signal = client.allocate(4096);
  signal.as<u64>()[0] = 1;                                       // kind: user
  signal.as<i64>()[1] = 1;                                       // value
  signal.as<u64>()[2] = page.va + event.event_id * sizeof(u64);  // mailbox
  signal.as<u32>()[6] = event.event_id;
  const TestQueue queue = client.create_queue();

  for (u64 index = 0; index < 3; ++index) {
    signal.as<i64>()[1] = 1;
    u8* packet = queue.ring.as<u8>() + index * 64;
    std::memset(packet, 0, 64);
    std::memcpy(packet + 56, &signal.va, sizeof(u64));
    const u16 header = 3 | 1 << 8 | 2 << 9 | 2 << 11;  // barrier-AND, barrier bit, system scope
    std::atomic_ref<u16>(*reinterpret_cast<u16*>(packet)).store(header, std::memory_order_release);
    std::atomic_ref<u64>(queue.pointers.as<u64>()[7]).store(index + 1, std::memory_order_release);
    queue.doorbell->store(index, std::memory_order_release);

    abi::EventData data = {};
    data.event_id = event.event_id;
    abi::WaitEventsArgs wait = {};
    wait.events_ptr = reinterpret_cast<u64>(&data);
    wait.num_events = 1;
    wait.timeout = 60'000;
    ASSERT_EQ(client.call(abi::kfd_wait_events, wait), 0);
    ASSERT_EQ(wait.wait_result, abi::wait_complete);
    EXPECT_EQ(std::atomic_ref<i64>(signal.as<i64>()[1]).load(), 0);
  }
}

}  // namespace
}  // namespace vgpu::driver
