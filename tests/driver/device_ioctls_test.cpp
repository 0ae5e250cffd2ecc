// Apertures, clocks, policies: the calls libhsakmt makes while it starts.
#include "device/clock.h"
#include "driver/driver_support.h"

namespace vgpu::driver {
namespace {

using DeviceIoctls = DriverTest;
constexpr u32 kNoGpu = 0xdead;

TEST_F(DeviceIoctls, AperturesOfEveryGpu) {
  DriverConfig config = small();
  config.gpus = 2;
  start(config);
  Client client(*driver);
  abi::GetProcessAperturesNewArgs args = {};
  EXPECT_EQ(client.call(abi::kfd_get_process_apertures_new, args), 0);
  EXPECT_EQ(args.num_of_nodes, 2u);

  abi::DeviceApertures entries[3] = {};
  args.kfd_process_device_apertures_ptr = reinterpret_cast<u64>(entries);
  args.num_of_nodes = 3;  // CPU and two GPUs, as libhsakmt passes
  EXPECT_EQ(client.call(abi::kfd_get_process_apertures_new, args), 0);
  EXPECT_EQ(args.num_of_nodes, 2u);
  for (u32 i = 0; i < 2; ++i) {
    EXPECT_EQ(entries[i].gpu_id, client.gpu_id(i));
    EXPECT_EQ(entries[i].lds_base, 0x1000000000000u);
    EXPECT_EQ(entries[i].scratch_base, 0x2000000000000u);
    EXPECT_GE(entries[i].gpuvm_limit, 0x7fffffffffffu);
  }
  EXPECT_NE(entries[0].gpu_id, entries[1].gpu_id);

  args.num_of_nodes = 4;
  EXPECT_EQ(client.call(abi::kfd_get_process_apertures_new, args), -EINVAL);
  args.num_of_nodes = 1;
  args.kfd_process_device_apertures_ptr = 0;
  EXPECT_EQ(client.call(abi::kfd_get_process_apertures_new, args), -EFAULT);

  abi::GetProcessAperturesArgs old = {};
  EXPECT_EQ(client.call(abi::kfd_get_process_apertures, old), 0);
  EXPECT_EQ(old.num_of_nodes, 2u);
  EXPECT_EQ(old.process_apertures[1].gpu_id, client.gpu_id(1));
}

TEST_F(DeviceIoctls, ClocksAreTheDevicesClock) {
  Client client(*driver);
  abi::GetClockCountersArgs args = {};
  args.gpu_id = client.gpu_id();
  const u64 before = device::gpu_clock();
  EXPECT_EQ(client.call(abi::kfd_get_clock_counters, args), 0);
  EXPECT_GE(args.gpu_clock_counter, before);
  EXPECT_LE(args.gpu_clock_counter, device::gpu_clock());
  EXPECT_EQ(args.system_clock_freq, 1'000'000'000u);
  EXPECT_NEAR(static_cast<double>(args.gpu_clock_counter) * 10,
              static_cast<double>(args.cpu_clock_counter), 1e9);
  args.gpu_id = 0;  // the CPU node
  EXPECT_EQ(client.call(abi::kfd_get_clock_counters, args), 0);
  EXPECT_EQ(args.gpu_clock_counter, 0u);
}

TEST_F(DeviceIoctls, NothingWorksBeforeTheVmIsAcquired) {
  Client client(*driver);
  abi::SetMemoryPolicyArgs policy = {};
  policy.gpu_id = client.gpu_id();
  EXPECT_EQ(client.call(abi::kfd_set_memory_policy, policy), -ESRCH);
  abi::SetScratchBackingVaArgs scratch = {.va_addr = 0x1000, .gpu_id = client.gpu_id(), .pad = 0};
  EXPECT_EQ(client.call(abi::kfd_set_scratch_backing_va, scratch), -ENODEV);
  abi::SetTrapHandlerArgs trap = {};
  trap.gpu_id = client.gpu_id();
  EXPECT_EQ(client.call(abi::kfd_set_trap_handler, trap), -ESRCH);
  abi::AllocMemoryArgs alloc = {};
  alloc.size = 4096;
  alloc.gpu_id = client.gpu_id();
  alloc.flags = abi::alloc_vram;
  EXPECT_EQ(client.call(abi::kfd_alloc_memory_of_gpu, alloc), -ENODEV);
  abi::CreateQueueArgs queue = {};
  queue.gpu_id = client.gpu_id();
  EXPECT_EQ(client.call(abi::kfd_create_queue, queue), -ESRCH);

  client.acquire_vm();
  EXPECT_EQ(client.call(abi::kfd_set_memory_policy, policy), 0);
  EXPECT_EQ(client.call(abi::kfd_set_scratch_backing_va, scratch), 0);
  EXPECT_EQ(client.call(abi::kfd_set_trap_handler, trap), 0);
}

TEST_F(DeviceIoctls, UnknownGpuIsInvalid) {
  Client client(*driver);
  client.acquire_vm();
  abi::SetMemoryPolicyArgs policy = {};
  policy.gpu_id = kNoGpu;
  EXPECT_EQ(client.call(abi::kfd_set_memory_policy, policy), -EINVAL);
  abi::SetScratchBackingVaArgs scratch = {.va_addr = 0, .gpu_id = kNoGpu, .pad = 0};
  EXPECT_EQ(client.call(abi::kfd_set_scratch_backing_va, scratch), -EINVAL);
  abi::SetTrapHandlerArgs trap = {};
  trap.gpu_id = kNoGpu;
  EXPECT_EQ(client.call(abi::kfd_set_trap_handler, trap), -EINVAL);
  abi::GetTileConfigArgs tile = {};
  tile.gpu_id = kNoGpu;
  EXPECT_EQ(client.call(abi::kfd_get_tile_config, tile), -EINVAL);
  abi::AcquireVmArgs vm = {.drm_fd = 3, .gpu_id = kNoGpu};
  EXPECT_EQ(client.call(abi::kfd_acquire_vm, vm), -EINVAL);
  abi::GetAvailableMemoryArgs available = {};
  available.gpu_id = kNoGpu;
  EXPECT_EQ(client.call(abi::kfd_available_memory, available), -EINVAL);
  abi::SmiEventsArgs smi = {.gpuid = kNoGpu, .anon_fd = 0};
  EXPECT_EQ(client.call(abi::kfd_smi_events, smi), -EINVAL);
}

TEST_F(DeviceIoctls, BadCachePolicyIsInvalid) {
  Client client(*driver);
  client.acquire_vm();
  abi::SetMemoryPolicyArgs policy = {};
  policy.gpu_id = client.gpu_id();
  policy.default_policy = 2;
  EXPECT_EQ(client.call(abi::kfd_set_memory_policy, policy), -EINVAL);
  policy.default_policy = abi::cache_policy_noncoherent;
  policy.alternate_policy = 7;
  EXPECT_EQ(client.call(abi::kfd_set_memory_policy, policy), -EINVAL);
}

TEST_F(DeviceIoctls, TileConfigFillsWhatFits) {
  Client client(*driver);
  u32 tiles[64], macro[64];
  abi::GetTileConfigArgs args = {};
  args.gpu_id = client.gpu_id();
  args.tile_config_ptr = reinterpret_cast<u64>(tiles);
  args.macro_tile_config_ptr = reinterpret_cast<u64>(macro);
  args.num_tile_configs = args.num_macro_tile_configs = 64;
  EXPECT_EQ(client.call(abi::kfd_get_tile_config, args), 0);
  EXPECT_EQ(args.num_tile_configs, 32u);
  EXPECT_EQ(args.num_macro_tile_configs, 16u);
  EXPECT_NE(args.gb_addr_config, 0u);
  args.tile_config_ptr = 0;
  EXPECT_EQ(client.call(abi::kfd_get_tile_config, args), -EFAULT);
}

TEST_F(DeviceIoctls, XnackIsOffAndStaysOff) {
  Client client(*driver);
  abi::SetXnackModeArgs args = {-1};
  EXPECT_EQ(client.call(abi::kfd_set_xnack_mode, args), 0);
  EXPECT_EQ(args.xnack_enabled, 0);
  args.xnack_enabled = 1;
  EXPECT_EQ(client.call(abi::kfd_set_xnack_mode, args), -EPERM);
  args.xnack_enabled = 0;
  EXPECT_EQ(client.call(abi::kfd_set_xnack_mode, args), 0);
  client.create_queue();
  EXPECT_EQ(client.call(abi::kfd_set_xnack_mode, args), -EBUSY);
}

TEST_F(DeviceIoctls, DrmNodesAreTheGpusOnly) {
  EXPECT_TRUE(driver->open_render(128));
  EXPECT_TRUE(driver->open_render(0));  // card0
  EXPECT_FALSE(driver->open_render(129));
  EXPECT_FALSE(driver->open_render(1));
}

TEST(DriverCreate, RefusesWhatCannotBe) {
  DriverConfig config;
  config.profile = "voodoo2";
  const auto unknown = Driver::create(config);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().hint.find("mi210"), std::string::npos);
  config.profile = "mi50";
  config.gpus = 0;
  EXPECT_FALSE(Driver::create(config));
}

}  // namespace
}  // namespace vgpu::driver
