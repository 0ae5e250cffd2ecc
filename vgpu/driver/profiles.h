// The GPUs that can be imitated: what the driver and the topology report about each, as data.
#pragma once

#include <string>
#include <vector>

#include "device/gpu.h"

namespace vgpu::driver {

// Constant facts of one product.
struct Profile {
  const char* name;       // --profile
  const char* asic_name;  // topology "name": amdgpu_asic_name, lower case
  const char* marketing_name;
  isa::Arch arch;
  u32 gfx_target_version;  // 90010 = gfx90a
  u32 device_id, revision_id, subsystem_device_id;
  u32 waves_per_simd;
  u32 vgprs_per_simd;
  u32 vgpr_bytes_per_cu;  // part of the context save area (kfd_queue.c:kfd_get_vgpr_size_per_cu)
  u32 shader_engines;
  u32 sdma_engines, sdma_queues_per_engine;
  u32 vmids;  // kfd_device.c:740-767
  u32 mec_firmware, sdma_firmware;
  u32 max_clock_mhz, memory_clock_mhz, memory_width;
  u32 l1_kib, l2_kib;
  bool sram_ecc;
  bool per_vmid_debug;      // kfd_debug.h:77: many processes can be debugged at once
  bool ttmps_always_setup;  // kfd_debug.h: kfd_dbg_has_ttmps_always_setup
  u32 gb_addr_config;
};

// Null if there is no such profile.
const Profile* find_profile(const std::string& name);
std::string profile_names();

// Sets what the product fixes (architecture, register file) and keeps what the user may choose
// (CUs, HQDs, workers, cost model).
void apply_profile(const Profile& profile, device::GpuConfig& config);

// What kfd_queue_ctx_save_restore_size computes for a node.
struct SaveAreaSizes {
  u32 ctl_stack = 0;  // control stack, header included
  u32 cwsr = 0;       // control stack and wave state
  u32 debug = 0;      // the debugger's memory behind it
};
SaveAreaSizes save_area_sizes(const Profile& profile, const device::GpuConfig& config);

}  // namespace vgpu::driver
