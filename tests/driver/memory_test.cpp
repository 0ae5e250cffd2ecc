// Allocation, mapping, accounting and sharing of GPU memory.
#include <fcntl.h>
#include <sys/mman.h>

#include "driver/driver_support.h"
#include "driver/memory/memory_pool.h"

namespace vgpu::driver {
namespace {

class Memory : public DriverTest {
 protected:
  static constexpr u64 kMiB = 1 << 20;
  int allocate(Client& client, u64 size, u32 flags, abi::AllocMemoryArgs* out = nullptr,
               u64 va = 0x100000000) {
    abi::AllocMemoryArgs args = {};
    args.va_addr = va;
    args.size = size;
    args.gpu_id = client.gpu_id();
    args.flags = flags;
    args.mmap_offset = flags & abi::alloc_userptr ? 0x7000000 : 0;
    const int result = client.call(abi::kfd_alloc_memory_of_gpu, args);
    if (out) {
      *out = args;
    }
    return result;
  }
  int map(Client& client, u64 handle, std::vector<u32> gpus, u32* done = nullptr,
          u32 nr = abi::kfd_map_memory_to_gpu) {
    abi::MapMemoryArgs args = {};
    args.handle = handle;
    args.device_ids_array_ptr = reinterpret_cast<u64>(gpus.data());
    args.n_devices = static_cast<u32>(gpus.size());
    const int result = client.call(nr, args);
    if (done) {
      *done = args.n_success;
    }
    return result;
  }
  int unmap(Client& client, u64 handle, std::vector<u32> gpus) {
    return map(client, handle, std::move(gpus), nullptr, abi::kfd_unmap_memory_from_gpu);
  }
  int free(Client& client, u64 handle) {
    abi::FreeMemoryArgs args = {handle};
    return client.call(abi::kfd_free_memory_of_gpu, args);
  }
  u64 vram_used() { return driver->stats().gpus[0].vram_used; }
  u64 available(Client& client) {
    abi::GetAvailableMemoryArgs args = {};
    args.gpu_id = client.gpu_id();
    EXPECT_EQ(client.call(abi::kfd_available_memory, args), 0);
    return args.available;
  }
};

TEST(RangeAllocatorTest, JoinsNeighboursAgain) {
  RangeAllocator ranges(0, 100);
  const u64 a = *ranges.allocate(30, 1), b = *ranges.allocate(30, 1), c = *ranges.allocate(40, 1);
  EXPECT_FALSE(ranges.allocate(1, 1));
  ranges.release(a, 30);
  ranges.release(c, 40);
  EXPECT_FALSE(ranges.allocate(50, 1));
  ranges.release(b, 30);
  EXPECT_EQ(ranges.allocate(100, 1), 0u);
}

TEST(RangeAllocatorTest, Aligns) {
  RangeAllocator ranges(1, 100);
  EXPECT_EQ(ranges.allocate(8, 16), 16u);
  EXPECT_EQ(ranges.allocate(8, 1), 1u);
  EXPECT_FALSE(ranges.allocate(80, 16));
}

TEST_F(Memory, NewMemoryIsZeroAlsoWhenReused) {
  Client client(*driver);
  for (int round = 0; round < 3; ++round) {
    const TestBuffer buffer = client.allocate(kMiB, abi::alloc_vram);
    for (u64 i = 0; i < kMiB / sizeof(u64); ++i) {
      ASSERT_EQ(buffer.as<u64>()[i], 0u);
      buffer.as<u64>()[i] = ~u64{0};
    }
    client.free(buffer);
  }
}

TEST_F(Memory, VramIsLimited) {
  Client client(*driver), other(*driver);
  client.acquire_vm();
  other.acquire_vm();
  EXPECT_EQ(available(client), 64 * kMiB);
  abi::AllocMemoryArgs first = {};
  EXPECT_EQ(allocate(client, 40 * kMiB, abi::alloc_vram, &first), 0);
  EXPECT_EQ(vram_used(), 40 * kMiB);
  EXPECT_EQ(available(other), 24 * kMiB);
  EXPECT_EQ(allocate(other, 25 * kMiB, abi::alloc_vram), -ENOMEM);
  EXPECT_EQ(allocate(other, 24 * kMiB, abi::alloc_vram), 0);
  EXPECT_EQ(allocate(client, 4096, abi::alloc_vram), -ENOMEM);
  EXPECT_EQ(allocate(client, 4096, abi::alloc_gtt), 0) << "system memory is apart";
  EXPECT_EQ(free(client, first.handle), 0);
  EXPECT_EQ(allocate(client, 40 * kMiB, abi::alloc_vram), 0);
  other.exit();
  EXPECT_EQ(vram_used(), 40 * kMiB);
}

TEST_F(Memory, BadAllocations) {
  Client client(*driver);
  client.acquire_vm();
  EXPECT_EQ(allocate(client, 0, abi::alloc_vram), -EINVAL);
  EXPECT_EQ(allocate(client, 4096, 0), -EINVAL);
  EXPECT_EQ(allocate(client, 4096, abi::alloc_doorbell), -EINVAL) << "a doorbell slice is 8192";
  EXPECT_EQ(allocate(client, 8192, abi::alloc_mmio_remap), -EINVAL) << "the MMIO page is 4096";
  EXPECT_EQ(allocate(client, ~u64{0}, abi::alloc_gtt), -ENOMEM);
  abi::AllocMemoryArgs args = {};
  args.size = 4096;
  args.flags = abi::alloc_vram;
  args.gpu_id = 1;
  EXPECT_EQ(client.call(abi::kfd_alloc_memory_of_gpu, args), -EINVAL);
  args.gpu_id = client.gpu_id();
  args.flags = abi::alloc_userptr;
  EXPECT_EQ(client.call(abi::kfd_alloc_memory_of_gpu, args), -EINVAL) << "no CPU address";
}

TEST_F(Memory, DoorbellAndMmioOffsetsAreInTheKfdFile) {
  Client client(*driver);
  client.acquire_vm();
  abi::AllocMemoryArgs doorbell = {}, mmio = {};
  ASSERT_EQ(allocate(client, 8192, abi::alloc_doorbell, &doorbell), 0);
  ASSERT_EQ(allocate(client, 4096, abi::alloc_mmio_remap, &mmio), 0);
  EXPECT_EQ(doorbell.mmap_offset & 0xffffffff, 0u) << "libhsakmt 5.2.3 splits at 32 bits";
  EXPECT_NE(doorbell.mmap_offset, mmio.mmap_offset);
  for (const auto& [offset, size] :
       {std::pair{doorbell.mmap_offset, 8192}, {mmio.mmap_offset, 4096}}) {
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, client.kfd_fd(),
                    static_cast<off_t>(offset));
    ASSERT_NE(at, MAP_FAILED);
    *static_cast<volatile u64*>(at) = 1;
    munmap(at, size);
  }
}

TEST_F(Memory, MappedMemoryCannotBeFreed) {
  Client client(*driver);
  const TestBuffer buffer = client.allocate(4096);
  EXPECT_EQ(free(client, buffer.handle), -EBUSY);
  client.free(buffer);
  EXPECT_EQ(free(client, buffer.handle), -EINVAL);
}

TEST_F(Memory, MapAndUnmapCountWhatTheyDid) {
  DriverConfig config = small();
  config.gpus = 2;
  start(config);
  Client client(*driver);
  client.acquire_vm(0);
  client.acquire_vm(1);
  abi::AllocMemoryArgs args = {};
  ASSERT_EQ(allocate(client, 4096, abi::alloc_gtt, &args), 0);
  u32 done = 0;
  EXPECT_EQ(map(client, args.handle, {client.gpu_id(0), 1, client.gpu_id(1)}, &done), -EINVAL);
  EXPECT_EQ(done, 1u) << "the first device is mapped";
  EXPECT_EQ(map(client, args.handle, {client.gpu_id(0), client.gpu_id(1)}, &done), 0);
  EXPECT_EQ(done, 2u);
  EXPECT_EQ(map(client, args.handle, {client.gpu_id(0)}, &done), 0) << "twice is once";
  EXPECT_EQ(unmap(client, args.handle, {client.gpu_id(1)}), 0);
  EXPECT_EQ(free(client, args.handle), -EBUSY);
  EXPECT_EQ(unmap(client, args.handle, {client.gpu_id(0), client.gpu_id(1)}), 0);
  EXPECT_EQ(free(client, args.handle), 0);
}

TEST_F(Memory, BadMaps) {
  Client client(*driver);
  client.acquire_vm();
  abi::AllocMemoryArgs args = {};
  ASSERT_EQ(allocate(client, 8192, abi::alloc_gtt, &args), 0);
  const u32 gpu = client.gpu_id();
  EXPECT_EQ(map(client, args.handle, {}), -EINVAL);
  EXPECT_EQ(map(client, 0x1234, {gpu}), -EINVAL) << "no such GPU in the handle";
  EXPECT_EQ(map(client, args.handle + 100, {gpu}), -ENOMEM) << "no such allocation";
  EXPECT_EQ(unmap(client, args.handle + 100, {gpu}), -ENOMEM);
  abi::MapMemoryArgs raw = {};
  raw.handle = args.handle;
  raw.n_devices = 1;
  EXPECT_EQ(client.call(abi::kfd_map_memory_to_gpu, raw), -EFAULT);
  raw.n_success = 2;
  EXPECT_EQ(client.call(abi::kfd_map_memory_to_gpu, raw), -EINVAL);
  EXPECT_EQ(map(client, args.handle, {gpu}), 0);
  abi::AllocMemoryArgs overlapping = {}, misaligned = {};
  ASSERT_EQ(allocate(client, 4096, abi::alloc_gtt, &overlapping, 0x100001000), 0);
  EXPECT_EQ(map(client, overlapping.handle, {gpu}), -EINVAL);
  ASSERT_EQ(allocate(client, 4096, abi::alloc_gtt, &misaligned, 0x100004010), 0);
  EXPECT_EQ(map(client, misaligned.handle, {gpu}), -EINVAL);
}

TEST_F(Memory, HandlesAreReused) {
  Client client(*driver);
  client.acquire_vm();
  abi::AllocMemoryArgs a = {}, b = {}, c = {};
  ASSERT_EQ(allocate(client, 4096, abi::alloc_gtt, &a), 0);
  ASSERT_EQ(allocate(client, 4096, abi::alloc_gtt, &b), 0);
  EXPECT_EQ(a.handle >> 32, client.gpu_id());
  EXPECT_EQ(free(client, a.handle), 0);
  ASSERT_EQ(allocate(client, 4096, abi::alloc_gtt, &c), 0);
  EXPECT_EQ(c.handle, a.handle);
}

TEST_F(Memory, UserMemoryComesFromTheClientsOwnSealedFile) {
  Client client(*driver);
  client.acquire_vm();
  constexpr u64 kAddress = 0x7000000;
  const auto allocate_from = [&](int fd) {
    Caller caller = client.make_caller();
    caller.passed_fd.reset(dup(fd));
    abi::AllocMemoryArgs args = {};
    args.va_addr = 0x200000000;
    args.size = 4096;
    args.gpu_id = client.gpu_id();
    args.flags = abi::alloc_userptr;
    args.mmap_offset = kAddress;
    const int result = client.call_as(caller, client.file(), abi::kfd_alloc_memory_of_gpu, args);
    EXPECT_EQ(args.mmap_offset, kAddress);
    return result;
  };
  UniqueFd open_file(memfd_create("open", MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(open_file.get(), kAddress + 4096), 0);
  EXPECT_EQ(allocate_from(open_file.get()), -EINVAL) << "it could shrink under the server";
  ASSERT_EQ(fcntl(open_file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(allocate_from(open_file.get()), 0);
  EXPECT_EQ(vram_used(), 0u);
}

TEST_F(Memory, UserMemoryWithoutAFileGetsBacking) {
  Client client(*driver);
  client.acquire_vm();
  abi::AllocMemoryArgs args = {};
  ASSERT_EQ(allocate(client, 8192, abi::alloc_userptr, &args), 0);
  EXPECT_NE(args.mmap_offset, 0x7000000u) << "now an offset in the memory file";
  EXPECT_EQ(vram_used(), 0u);
}

TEST_F(Memory, EventPageBelongsToTheDriver) {
  Client client(*driver);
  const TestBuffer page = client.allocate(8 * 4096);
  abi::CreateEventArgs args = {};
  args.event_page_offset = page.handle;
  EXPECT_EQ(client.call(abi::kfd_create_event, args), 0);
  EXPECT_EQ(free(client, page.handle), -EPERM);
}

TEST_F(Memory, IpcHandlesShareABuffer) {
  DriverConfig config = small();
  config.kfd = KfdVersion::dkms;
  start(config);
  Client owner(*driver), guest(*driver);
  guest.acquire_vm();
  const TestBuffer buffer = owner.allocate(kMiB, abi::alloc_vram);
  buffer.as<u64>()[5] = 42;

  abi::IpcExportArgs exported = {};
  exported.handle = buffer.handle;
  exported.gpu_id = owner.gpu_id();
  exported.flags = 0x55;
  ASSERT_EQ(owner.call(abi::kfd_ipc_export_handle, exported), 0);

  abi::IpcImportArgs imported = {};
  std::memcpy(imported.share_handle, exported.share_handle, sizeof(imported.share_handle));
  imported.va_addr = 0x300000000;
  imported.gpu_id = guest.gpu_id();
  ASSERT_EQ(guest.call(abi::kfd_ipc_import_handle, imported), 0);
  EXPECT_EQ(imported.mmap_offset, buffer.offset);
  EXPECT_EQ(imported.flags, 0x55u);
  EXPECT_EQ(map(guest, imported.handle, {guest.gpu_id()}), 0);
  EXPECT_EQ(vram_used(), kMiB) << "shared memory counts once";

  // It outlives its owner.
  owner.exit();
  EXPECT_EQ(vram_used(), kMiB);
  EXPECT_EQ(buffer.as<u64>()[5], 42u);
  EXPECT_EQ(unmap(guest, imported.handle, {guest.gpu_id()}), 0);
  EXPECT_EQ(free(guest, imported.handle), 0);
  EXPECT_EQ(vram_used(), 0u);
  EXPECT_EQ(guest.call(abi::kfd_ipc_import_handle, imported), -EINVAL) << "nobody has it any more";
  imported.share_handle[0] ^= 1;
  EXPECT_EQ(guest.call(abi::kfd_ipc_import_handle, imported), -EINVAL);
}

TEST_F(Memory, InjectedFullVram) {
  Client client(*driver);
  client.acquire_vm();
  ASSERT_TRUE(driver->inject("vram-full=on"));
  EXPECT_EQ(allocate(client, 4096, abi::alloc_vram), -ENOMEM);
  ASSERT_TRUE(driver->inject("vram-full=off"));
  EXPECT_EQ(allocate(client, 4096, abi::alloc_vram), 0);
}

}  // namespace
}  // namespace vgpu::driver
