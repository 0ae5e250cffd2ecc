// The topology files (kfd_topology.c): names, order and format as the kernel prints them.
// libhsakmt parses every value as a decimal number.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "driver/abi.h"
#include "driver/files/sysfs.h"

namespace vgpu::driver {
namespace {

constexpr u32 kSimdIdBase = 0x80001000;
constexpr u32 kIoLinkPcie = 2, kIoLinkXgmi = 11;
constexpr u32 kIoLinkEnabled = 1;

struct Property {
  const char* name;
  u64 value;
  bool since_1_13 = false;  // not in a 6.1 kernel
};

std::string print(const std::vector<Property>& properties, bool new_kernel) {
  std::string text;
  for (const Property& property : properties) {
    if (!property.since_1_13 || new_kernel) {
      text += fmt::format("{} {}\n", property.name, property.value);
    }
  }
  return text;
}

// The first "apicid" of /proc/cpuinfo: libhsakmt looks up the CPU's name by it.
u32 first_apicid() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("apicid")) {
      return static_cast<u32>(std::stoul(line.substr(line.find(':') + 1)));
    }
  }
  return 0;
}

u64 system_memory() { return static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * kPageSize; }

std::string cpu_properties(u64 links, bool new_kernel) {
  // clang-format off
  return print({
      {"cpu_cores_count", static_cast<u64>(sysconf(_SC_NPROCESSORS_ONLN))},
      {"simd_count", 0}, {"mem_banks_count", 1}, {"caches_count", 1}, {"io_links_count", links},
      {"p2p_links_count", 0}, {"cpu_core_id_base", first_apicid()}, {"simd_id_base", 0},
      {"max_waves_per_simd", 0}, {"lds_size_in_kb", 0}, {"gds_size_in_kb", 0}, {"num_gws", 0},
      {"wave_front_size", 0}, {"array_count", 0}, {"simd_arrays_per_engine", 0},
      {"cu_per_simd_array", 0}, {"simd_per_cu", 0}, {"max_slots_scratch_cu", 0},
      {"gfx_target_version", 0}, {"vendor_id", 0}, {"device_id", 0}, {"location_id", 0},
      {"domain", 0}, {"drm_render_minor", 0}, {"hive_id", 0}, {"num_sdma_engines", 0},
      {"num_sdma_xgmi_engines", 0}, {"num_sdma_queues_per_engine", 0}, {"num_cp_queues", 0},
      {"cwsr_size", 0, true}, {"ctl_stack_size", 0, true},
      {"max_engine_clk_ccompute", 2000},
  }, new_kernel);
  // clang-format on
}

std::string gpu_properties(const Node& node, u64 links, u64 hive_id, bool new_kernel) {
  const Profile& profile = *node.profile;
  const device::GpuConfig& config = node.config;
  const u32 cus_per_array = (config.cus + profile.shader_engines - 1) / profile.shader_engines;
  // clang-format off
  return print({
      {"cpu_cores_count", 0},
      {"simd_count", config.cus * config.simds_per_cu},
      {"mem_banks_count", 1},
      {"caches_count", 2},
      {"io_links_count", links},
      {"p2p_links_count", 0},
      {"cpu_core_id_base", 0},
      {"simd_id_base", kSimdIdBase + node.index * 0x1000},
      {"max_waves_per_simd", config.waves_per_simd},
      {"lds_size_in_kb", config.lds_per_cu / 1024},
      {"gds_size_in_kb", 0},
      {"num_gws", 64},
      {"wave_front_size", 64},
      {"array_count", profile.shader_engines},
      {"simd_arrays_per_engine", 1},
      {"cu_per_simd_array", cus_per_array},
      {"simd_per_cu", config.simds_per_cu},
      {"max_slots_scratch_cu", 32},
      {"gfx_target_version", profile.gfx_target_version},
      {"vendor_id", 0x1002},
      {"device_id", profile.device_id},
      {"location_id", node.location_id()},
      {"domain", 0},
      {"drm_render_minor", node.render_minor},
      {"hive_id", hive_id},
      {"num_sdma_engines", profile.sdma_engines},
      {"num_sdma_xgmi_engines", 0},
      {"num_sdma_queues_per_engine", profile.sdma_queues_per_engine},
      {"num_cp_queues", config.hqds},
      {"cwsr_size", node.save_area.cwsr, true},
      {"ctl_stack_size", node.save_area.ctl_stack, true},
      {"max_engine_clk_fcompute", profile.max_clock_mhz},
      {"local_mem_size", 0},
      {"fw_version", profile.mec_firmware},
      {"capability", node.capability},
      {"debug_prop", node.debug_prop},
      {"sdma_fw_version", profile.sdma_firmware},
      {"unique_id", node.unique_id()},
      {"num_xcc", 1, true},
      {"max_engine_clk_ccompute", 2000},
  }, new_kernel);
  // clang-format on
}

std::string memory_bank(u64 heap_type, u64 bytes, u64 width, u64 clock) {
  return fmt::format("heap_type {}\nsize_in_bytes {}\nflags 0\nwidth {}\nmem_clk_max {}\n",
                     heap_type, bytes, width, clock);
}

struct Cache {
  u32 processor_id, level, size_kib, associativity, latency, type, siblings;
};

std::string cache_properties(const Cache& cache) {
  std::string map;
  for (u32 i = 0; i < cache.siblings; ++i) {
    map += i ? ",1" : "1";
  }
  return fmt::format(
      "processor_id_low {}\nlevel {}\nsize {}\ncache_line_size 64\ncache_lines_per_tag 1\n"
      "association {}\nlatency {}\ntype {}\nsibling_map {}\n",
      cache.processor_id, cache.level, cache.size_kib, cache.associativity, cache.latency,
      cache.type, map);
}

std::string link_properties(u32 type, u32 from, u32 to, u32 weight, bool new_kernel) {
  return print(
      {
          {"type", type},
          {"version_major", 0},
          {"version_minor", 0},
          {"node_from", from},
          {"node_to", to},
          {"weight", weight},
          {"min_latency", 0},
          {"max_latency", 0},
          {"min_bandwidth", type == kIoLinkXgmi ? 50000u : 312u},
          {"max_bandwidth", type == kIoLinkXgmi ? 50000u : 31504u},
          {"recommended_transfer_size", 0},
          {"recommended_sdma_engine_id_mask", 0, true},
          {"flags", kIoLinkEnabled},
      },
      new_kernel);
}

void add_cpu_node(std::vector<StaticFile>& files, std::size_t gpus, bool new_kernel) {
  files.push_back({"nodes/0/gpu_id", "0\n"});
  files.push_back({"nodes/0/name", "\n"});
  files.push_back({"nodes/0/properties", cpu_properties(gpus, new_kernel)});
  files.push_back({"nodes/0/mem_banks/0/properties", memory_bank(0, system_memory(), 72, 3200)});
  // type: data, CPU
  files.push_back(
      {"nodes/0/caches/0/properties", cache_properties({first_apicid(), 1, 32, 8, 1, 5, 1})});
  for (u32 to = 1; to <= gpus; ++to) {
    files.push_back({fmt::format("nodes/0/io_links/{}/properties", to - 1),
                     link_properties(kIoLinkPcie, 0, to, 20, new_kernel)});
  }
}

void add_gpu_node(std::vector<StaticFile>& files, const Node& node, u64 vram, u32 gpus,
                  bool new_kernel) {
  const u32 id = node.index + 1;
  const std::string dir = fmt::format("nodes/{}/", id);
  const u64 hive_id = gpus > 1 ? 0x1a2b3c4d5e6f7081ull : 0;
  const Profile& profile = *node.profile;
  const u32 simd_base = kSimdIdBase + node.index * 0x1000;
  files.push_back({dir + "gpu_id", fmt::format("{}\n", node.gpu_id)});
  files.push_back({dir + "name", fmt::format("{}\n", profile.asic_name)});
  files.push_back({dir + "properties", gpu_properties(node, gpus, hive_id, new_kernel)});
  // heap_type 1: all VRAM is visible to the host (large BAR). HIP copies straight from VRAM
  // addresses and would crash with heap_type 2.
  files.push_back({dir + "mem_banks/0/properties",
                   memory_bank(1, vram, profile.memory_width, profile.memory_clock_mhz)});
  // type: data, HSACU
  files.push_back(
      {dir + "caches/0/properties", cache_properties({simd_base, 1, profile.l1_kib, 0, 0, 9, 1})});
  files.push_back({dir + "caches/1/properties",
                   cache_properties({simd_base, 2, profile.l2_kib, 0, 0, 9, node.config.cus})});
  u32 link = 0;
  files.push_back({fmt::format("{}io_links/{}/properties", dir, link++),
                   link_properties(kIoLinkPcie, id, 0, 20, new_kernel)});
  for (u32 to = 1; to <= gpus; ++to) {
    if (to != id) {
      files.push_back({fmt::format("{}io_links/{}/properties", dir, link++),
                       link_properties(kIoLinkXgmi, id, to, 15, new_kernel)});
    }
  }
}

}  // namespace

// Bits for what the device does not do are left out although a real one has them: address watch
// points, wave launch modes and overrides, precise memory operations.
void set_capabilities(Node& node, bool has_debugger) {
  const Profile& profile = *node.profile;
  constexpr u32 kDoorbellType2 = 2;  // 64-bit doorbells with the packet's index
  u32 capability = kDoorbellType2 << abi::cap_doorbell_type_shift;
  capability |= profile.revision_id << abi::cap_asic_revision_shift;
  if (profile.sram_ecc) {
    capability |=
        abi::cap_sram_edc_supported | abi::cap_mem_edcsupported | abi::cap_ras_event_notify;
  }
  u32 debug_prop = 0;
  if (has_debugger) {
    capability |= abi::cap_trap_debug_support | abi::cap_debug_firmware_supported;
    // Watch address mask bits 6 to 29; whether dispatch information is always in the TTMPs.
    debug_prop = 6 | 29 << 4 | (profile.ttmps_always_setup ? 0x400 : 0);
  }
  node.capability = capability;
  node.debug_prop = debug_prop;
}

std::vector<StaticFile> topology_files(const std::vector<std::unique_ptr<Node>>& nodes,
                                       bool has_debugger, u64 vram_bytes) {
  std::vector<StaticFile> files;
  files.push_back({"generation_id", "2\n"});
  files.push_back({"system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n"});
  add_cpu_node(files, nodes.size(), has_debugger);
  for (const auto& node : nodes) {
    add_gpu_node(files, *node, vram_bytes, static_cast<u32>(nodes.size()), has_debugger);
  }
  return files;
}

}  // namespace vgpu::driver
