#include "driver/profiles.h"

#include <algorithm>

namespace vgpu::driver {
namespace {

constexpr Profile kProfiles[] = {
    {
        .name = "mi210",
        .asic_name = "aldebaran",
        .marketing_name = "AMD Instinct MI210 (virtual)",
        .arch = isa::Arch::gfx90a,
        .gfx_target_version = 90010,
        .device_id = 0x740f,
        .revision_id = 0x02,
        .subsystem_device_id = 0x0c34,
        .waves_per_simd = 8,
        .vgprs_per_simd = 512,
        .vgpr_bytes_per_cu = 0x80000,
        .shader_engines = 2,
        .sdma_engines = 2,
        .sdma_queues_per_engine = 8,
        .vmids = 13,
        .mec_firmware = 71,
        .sdma_firmware = 8,
        .max_clock_mhz = 1700,
        .memory_clock_mhz = 1600,
        .memory_width = 4096,
        .l1_kib = 16,
        .l2_kib = 8192,
        .sram_ecc = true,
        .per_vmid_debug = true,
        .ttmps_always_setup = false,
        .gb_addr_config = 0x2a114042,
    },
    {
        .name = "mi50",
        .asic_name = "vega20",
        .marketing_name = "AMD Instinct MI50 (virtual)",
        .arch = isa::Arch::gfx906,
        .gfx_target_version = 90006,
        .device_id = 0x66a1,
        .revision_id = 0x02,
        .subsystem_device_id = 0x0834,
        .waves_per_simd = 10,
        .vgprs_per_simd = 256,
        .vgpr_bytes_per_cu = 0x40000,
        .shader_engines = 2,
        .sdma_engines = 2,
        .sdma_queues_per_engine = 8,
        .vmids = 8,
        .mec_firmware = 472,
        .sdma_firmware = 145,
        .max_clock_mhz = 1725,
        .memory_clock_mhz = 1000,
        .memory_width = 4096,
        .l1_kib = 16,
        .l2_kib = 4096,
        .sram_ecc = true,
        .per_vmid_debug = false,
        .ttmps_always_setup = true,
        .gb_addr_config = 0x2a114042,
    },
};

constexpr u32 align_up(u32 value, u32 to) { return (value + to - 1) / to * to; }

}  // namespace

const Profile* find_profile(const std::string& name) {
  const auto* found = std::find_if(std::begin(kProfiles), std::end(kProfiles),
                                   [&](const Profile& profile) { return name == profile.name; });
  return found == std::end(kProfiles) ? nullptr : found;
}

std::string profile_names() {
  std::string names;
  for (const Profile& profile : kProfiles) {
    names += names.empty() ? "" : ", ";
    names += profile.name;
  }
  return names;
}

void apply_profile(const Profile& profile, device::GpuConfig& config) {
  config.arch = profile.arch;
  config.waves_per_simd = profile.waves_per_simd;
  config.vgprs_per_simd = profile.vgprs_per_simd;
  config.vmids = profile.vmids;
  config.sdma_slots = profile.sdma_engines * profile.sdma_queues_per_engine;
}

SaveAreaSizes save_area_sizes(const Profile& profile, const device::GpuConfig& config) {
  constexpr u32 kSgprBytesPerCu = 0x4000;
  constexpr u32 kLdsBytesPerCu = 0x10000;
  constexpr u32 kHwregBytesPerCu = 0x1000;
  constexpr u32 kCtlStackBytesPerWave = 8;
  constexpr u32 kDebuggerBytesPerWave = 32;
  constexpr u32 kHeaderBytes = 40;  // kfd_context_save_area_header

  const u32 waves = std::min(config.cus * 40, profile.shader_engines * 512);
  const u32 wave_state = config.cus * (profile.vgpr_bytes_per_cu + kSgprBytesPerCu +
                                       kLdsBytesPerCu + kHwregBytesPerCu);
  SaveAreaSizes sizes;
  sizes.ctl_stack = align_up(kHeaderBytes + waves * kCtlStackBytesPerWave + 8, kPageSize);
  sizes.cwsr = sizes.ctl_stack + align_up(wave_state, kPageSize);
  sizes.debug = align_up(waves * kDebuggerBytesPerWave, 64);
  return sizes;
}

}  // namespace vgpu::driver
