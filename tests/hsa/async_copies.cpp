// TEST: asynchronous copies wait for the signals they depend on and report their time
// ENV: HSA_ENABLE_SDMA=1
#include "hsa_program.h"

int main() {
  Machine machine;
  HSA(hsa_amd_profiling_async_copy_enable(true));
  constexpr size_t kSize = 3'000'001;
  auto* source = machine.shared<unsigned char>(kSize);
  auto* target = machine.shared<unsigned char>(kSize);
  for (size_t i = 0; i < kSize; i++) source[i] = static_cast<unsigned char>(i * 31 >> 3);

  hsa_amd_memory_pool_t vram{};
  HSA(hsa_amd_agent_iterate_memory_pools(
      machine.gpus[0],
      [](hsa_amd_memory_pool_t pool, void* data) {
        hsa_amd_segment_t segment;
        HSA(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
        if (segment != HSA_AMD_SEGMENT_GLOBAL)
          return HSA_STATUS_SUCCESS;
        *static_cast<hsa_amd_memory_pool_t*>(data) = pool;
        return HSA_STATUS_INFO_BREAK;
      },
      &vram));
  void* device;
  HSA(hsa_amd_memory_pool_allocate(vram, kSize, 0, &device));
  HSA(hsa_amd_agents_allow_access(1, machine.gpus.data(), nullptr, device));

  const hsa_agent_t gpu = machine.gpus[0], cpu = machine.cpus[0];
  const hsa_signal_t go = machine.signal(1), up = machine.signal(1), down = machine.signal(1);
  HSA(hsa_amd_memory_async_copy(device, gpu, source, cpu, kSize, 1, &go, up));
  HSA(hsa_amd_memory_async_copy(target, cpu, device, gpu, kSize, 1, &up, down));
  EXPECT(hsa_signal_load_scacquire(down) == 1 && target[1] == 0, "the copies did not wait");
  hsa_signal_store_screlease(go, 0);
  wait_for(down);
  EXPECT(std::memcmp(source, target, kSize) == 0, "the bytes differ");

  hsa_amd_profiling_async_copy_time_t first, second;
  HSA(hsa_amd_profiling_get_async_copy_time(up, &first));
  HSA(hsa_amd_profiling_get_async_copy_time(down, &second));
  EXPECT(first.start < first.end && first.end <= second.start && second.start < second.end,
         "the times are out of order");
  return pass("asynchronous copies");
}
