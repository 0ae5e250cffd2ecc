// Version, clocks, apertures and per-device settings (kfd_chardev.c).
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "device/clock.h"
#include "driver/handlers.h"
#include "driver/task.h"

namespace vgpu::driver {

int get_version(Call& call, abi::GetVersionArgs& args) {
  args.major_version = abi::kKfdMajor;
  args.minor_version = call.module.kfd_minor();
  return 0;
}

int set_memory_policy(Call& call, abi::SetMemoryPolicyArgs& args) {
  if (args.default_policy > abi::cache_policy_noncoherent ||
      args.alternate_policy > abi::cache_policy_noncoherent) {
    return -EINVAL;
  }
  const std::lock_guard lock(call.process.mutex);
  if (!call.process.find_device(args.gpu_id)) {
    return -EINVAL;
  }
  // Memory is always coherent here: any valid policy holds.
  return call.process.find_bound_device(args.gpu_id) ? 0 : -ESRCH;
}

int get_clock_counters(Call& call, abi::GetClockCountersArgs& args) {
  {
    const std::lock_guard lock(call.process.mutex);
    args.gpu_clock_counter = call.process.find_device(args.gpu_id) ? device::gpu_clock() : 0;
  }
  timespec boot{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  args.cpu_clock_counter = device::now_ns();
  args.system_clock_counter =
      static_cast<u64>(boot.tv_sec) * 1'000'000'000u + static_cast<u64>(boot.tv_nsec);
  args.system_clock_freq = 1'000'000'000;
  return 0;
}

int get_process_apertures(Call& call, abi::GetProcessAperturesArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  args.num_of_nodes = 0;
  for (const auto& device : call.process.devices) {
    args.process_apertures[args.num_of_nodes] = device->apertures;
    if (++args.num_of_nodes >= abi::kOldApertureLimit) {
      break;
    }
  }
  return 0;
}

int get_process_apertures_new(Call& call, abi::GetProcessAperturesNewArgs& args) {
  const u32 room = args.num_of_nodes;
  std::vector<abi::DeviceApertures> apertures;
  {
    const std::lock_guard lock(call.process.mutex);
    for (const auto& device : call.process.devices) {
      apertures.push_back(device->apertures);
    }
  }
  if (room == 0) {
    args.num_of_nodes = static_cast<u32>(apertures.size());
    return 0;
  }
  if (room > call.module.nodes.size() + 1) {  // the topology's nodes, CPU included
    return -EINVAL;
  }
  apertures.resize(std::min<std::size_t>(room, apertures.size()));
  args.num_of_nodes = static_cast<u32>(apertures.size());
  return call.caller.memory->write(args.kfd_process_device_apertures_ptr, apertures.data(),
                                   apertures.size() * sizeof(abi::DeviceApertures))
             ? 0
             : -EFAULT;
}

int set_scratch_backing_va(Call& call, abi::SetScratchBackingVaArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  if (!call.process.find_device(args.gpu_id)) {
    return -EINVAL;
  }
  ProcessDevice* device = call.process.find_bound_device(args.gpu_id);
  if (!device) {
    return -ENODEV;
  }
  device->scratch_va = args.va_addr;
  return 0;
}

int get_tile_config(Call& call, abi::GetTileConfigArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  const ProcessDevice* device = call.process.find_device(args.gpu_id);
  if (!device) {
    return -EINVAL;
  }
  // gfx9 computes tiling from GB_ADDR_CONFIG; the two tables are empty of meaning and zero.
  constexpr u32 kTileModes = 32, kMacroTileModes = 16;
  constexpr u32 kZeroes[kTileModes] = {};
  args.gb_addr_config = device->node.profile->gb_addr_config;
  args.num_banks = args.num_ranks = 0;
  args.num_tile_configs = std::min(args.num_tile_configs, kTileModes);
  args.num_macro_tile_configs = std::min(args.num_macro_tile_configs, kMacroTileModes);
  const auto copy = [&](u64 address, u32& count) {
    const bool done =
        count == 0 || call.caller.memory->write(address, kZeroes, u64{count} * sizeof(u32));
    count = done ? count : 0;
    return done;
  };
  return copy(args.tile_config_ptr, args.num_tile_configs) &&
                 copy(args.macro_tile_config_ptr, args.num_macro_tile_configs)
             ? 0
             : -EFAULT;
}

int set_trap_handler(Call& call, abi::SetTrapHandlerArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  if (!call.process.find_device(args.gpu_id)) {
    return -EINVAL;
  }
  ProcessDevice* device = call.process.find_bound_device(args.gpu_id);
  if (!device) {
    return -ESRCH;
  }
  device->tba = args.tba_addr;
  device->tma = args.tma_addr;
  return 0;
}

int set_xnack_mode(Call& call, abi::SetXnackModeArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  if (args.xnack_enabled < 0) {
    args.xnack_enabled = call.process.xnack_enabled;
    return 0;
  }
  if (!call.process.queues.empty()) {
    return -EBUSY;
  }
  // The GPUs do not retry page faults (amdgpu.noretry=1).
  return args.xnack_enabled == 0 ? 0 : -EPERM;
}

int smi_events(Call& call, abi::SmiEventsArgs& args) {
  Node* node = nullptr;
  {
    const std::lock_guard lock(call.process.mutex);
    ProcessDevice* device = call.process.find_device(args.gpuid);
    if (!device) {
      return -EINVAL;
    }
    node = &device->node;
  }
  call.caller.reply_fd =
      node->smi.open(call.caller.pid, has_capability(call.caller.pid, kCapSysAdmin));
  return call.caller.reply_fd ? 0 : -errno;
}

// Shared virtual memory is not offered: no capability bit, and the answer of a kernel built without
// CONFIG_HSA_AMD_SVM.
int svm(Call&, abi::SvmArgs&) { return -EPERM; }

}  // namespace vgpu::driver
