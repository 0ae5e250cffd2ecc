// What amdgpu shows of a GPU beside KFD: the PCI device, its DRM nodes and what rocm-smi, amd-smi
// and libdrm look for there. Formats: Linux 6.12, drivers/pci/pci-sysfs.c and pci-driver.c,
// drm_sysfs.c, and amdgpu's amdgpu_device.c, amdgpu_atombios.c, amdgpu_ucode.c, amdgpu_vram_mgr.c,
// amdgpu_gtt_mgr.c, pm/amdgpu_pm.c.
//
// A virtual device has neither sensors nor clocks to set. Their files are absent, as they are on
// hardware without them (amdgpu_pm.c: attributes that a device does not support are not created).
#include <fmt/format.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "device/clock.h"
#include "driver/files/virtual_files.h"

namespace vgpu::driver {
namespace {

constexpr u32 kVendorAmd = 0x1002;
constexpr u32 kClassDisplay = 0x038000;  // PCI_CLASS_DISPLAY_OTHER
constexpr u32 kDrmMajor = 226;

std::string directory_of(const Node& node) {
  const std::string address = node.pci_address();
  return fmt::format("/sys/devices/pci{}/{}", address.substr(0, address.rfind(':')), address);
}

// Drivers and udev's rules know a device by this (pci_uevent).
std::string pci_uevent(const Node& node) {
  const Profile& profile = *node.profile;
  return fmt::format(
      "DRIVER=amdgpu\nPCI_CLASS={:04X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
      "PCI_SLOT_NAME={}\n"
      "MODALIAS=pci:v{:08X}d{:08X}sv{:08X}sd{:08X}bc{:02X}sc{:02X}i{:02x}\n",
      kClassDisplay, kVendorAmd, profile.device_id, kVendorAmd, profile.subsystem_device_id,
      node.pci_address(), kVendorAmd, profile.device_id, kVendorAmd, profile.subsystem_device_id,
      kClassDisplay >> 16, kClassDisplay >> 8 & 0xff, kClassDisplay & 0xff);
}

void add_pci_device(DeviceFiles& all, const Node& node, u64 vram_bytes, u64 gtt_bytes) {
  const Profile& profile = *node.profile;
  const StaticFile files[] = {
      {"vendor", fmt::format("{:#06x}\n", kVendorAmd)},
      {"device", fmt::format("{:#06x}\n", profile.device_id)},
      {"subsystem_vendor", fmt::format("{:#06x}\n", kVendorAmd)},
      {"subsystem_device", fmt::format("{:#06x}\n", profile.subsystem_device_id)},
      {"revision", fmt::format("{:#04x}\n", profile.revision_id)},
      {"class", fmt::format("{:#08x}\n", kClassDisplay)},
      {"uevent", pci_uevent(node)},
      {"numa_node", "-1\n"},  // nobody has said which it is near to
      {"unique_id", fmt::format("{:016x}\n", node.unique_id())},
      {"product_name", fmt::format("{}\n", profile.marketing_name)},
      // librocm_smi takes a device for one of amdgpu's by this file, and rocm-smi the middle for
      // the name of the board.
      {"vbios_version", "113-VIRTUAL-000\n"},
      {"fw_version/mec_fw_version", fmt::format("{:#010x}\n", profile.mec_firmware)},
      {"fw_version/sdma_fw_version", fmt::format("{:#010x}\n", profile.sdma_firmware)},
      {"mem_info_vram_total", fmt::format("{}\n", vram_bytes)},
      {"mem_info_vis_vram_total", fmt::format("{}\n", vram_bytes)},  // large BAR
      {"mem_info_gtt_total", fmt::format("{}\n", gtt_bytes)},
      // librocm_smi wants a monitor, be it without sensors; that of 5.2 ends with an exception if
      // there is no label of the voltage (Monitor::setVoltSensorLabelMap).
      {fmt::format("hwmon/hwmon{}/name", node.index), "amdgpu\n"},
      {fmt::format("hwmon/hwmon{}/in0_label", node.index), "vddgfx\n"},
  };
  const std::string directory = directory_of(node);
  for (const StaticFile& file : files) {
    all.files.push_back({fmt::format("{}/{}", directory, file.path), file.text});
  }
  for (const char* name : {"gpu_busy_percent", "gpu_metrics", "mem_info_vram_used",
                           "mem_info_vis_vram_used", "mem_info_gtt_used"}) {
    all.generated.push_back(fmt::format("{}/{}", directory, name));
  }
  const std::string address = node.pci_address();
  all.links.push_back({directory + "/subsystem", "/sys/bus/pci"});
  all.links.push_back({directory + "/driver", "/sys/bus/pci/drivers/amdgpu"});
  all.links.push_back({"/sys/bus/pci/devices/" + address, directory});
  all.links.push_back({"/sys/bus/pci/drivers/amdgpu/" + address, directory});
}

void add_drm_node(DeviceFiles& all, const Node& node, const std::string& name, u32 minor) {
  const std::string device = directory_of(node);
  const std::string directory = fmt::format("{}/drm/{}", device, name);
  all.files.push_back({directory + "/dev", fmt::format("{}:{}\n", kDrmMajor, minor)});
  all.files.push_back(
      {directory + "/uevent", fmt::format("MAJOR={}\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n",
                                          kDrmMajor, minor, name)});
  all.links.push_back({directory + "/device", device});
  all.links.push_back({directory + "/subsystem", "/sys/class/drm"});
  all.links.push_back({"/sys/class/drm/" + name, directory});
  all.links.push_back({fmt::format("/sys/dev/char/{}:{}", kDrmMajor, minor), directory});
}

// System memory that processes have allocated or registered on this GPU. Several may have imported
// one buffer.
u64 gtt_used(Module& module, const Node& node) {
  std::set<BufferPtr> buffers;
  for (const ProcessPtr& process : module.all_processes()) {
    const std::lock_guard lock(process->mutex);
    for (const auto& device : process->devices) {
      for (const auto& [handle, allocation] : device->allocations) {
        const Buffer& buffer = *allocation.buffer;
        if (&device->node == &node && buffer.pool && buffer.region == MemoryPool::kSystem) {
          buffers.insert(allocation.buffer);
        }
      }
    }
  }
  u64 bytes = 0;
  for (const BufferPtr& buffer : buffers) {
    bytes += buffer->size;
  }
  return bytes;
}

// struct gpu_metrics_v1_3 of amdgpu's interface to the power controller: what Aldebaran has, 120
// bytes. All ones: not known (smu_cmn_init_soft_gpu_metrics), which is all but the activity and the
// two clocks.
std::string gpu_metrics(const Node& node) {
  constexpr u16 kSize = 120;
  std::string bytes(kSize, '\xff');
  const auto put = [&](std::size_t offset, auto value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  };
  put(0, kSize);  // metrics_table_header: size, format and content revision
  put(2, u8{1});
  put(3, u8{3});
  put(16, static_cast<u16>(node.gpu->busy_percent()));  // average_gfx_activity
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  // system_clock_counter in ns, and firmware_timestamp in 10 ns
  put(32, static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec));
  put(96, device::gpu_clock());
  return bytes;
}

}  // namespace

std::string Node::pci_address() const {
  const u32 location = location_id();
  return fmt::format("0000:{:02x}:{:02x}.{}", location >> 8, location >> 3 & 31, location & 7);
}

DeviceFiles device_files(const std::vector<std::unique_ptr<Node>>& nodes, u64 vram_bytes,
                         u64 gtt_bytes) {
  DeviceFiles all;
  all.files.push_back({"/sys/class/drm/version", "drm 1.1.0 20060810\n"});
  for (const auto& node : nodes) {
    add_pci_device(all, *node, vram_bytes, gtt_bytes);
    add_drm_node(all, *node, fmt::format("card{}", node->index), node->index);
    add_drm_node(all, *node, fmt::format("renderD{}", node->render_minor), node->render_minor);
  }
  return all;
}

Result<std::string> read_device_file(Module& module, const std::string& path) {
  if (const std::string* text = module.sysfs->find(path)) {
    return *text;
  }
  const std::size_t slash = path.rfind('/');
  for (const auto& node : module.nodes) {
    if (path.compare(0, slash, directory_of(*node)) != 0) {
      continue;
    }
    const std::string name = path.substr(slash + 1);
    if (name == "gpu_busy_percent") {
      return fmt::format("{}\n", node->gpu->busy_percent());
    }
    if (name == "gpu_metrics") {
      return gpu_metrics(*node);
    }
    if (name == "mem_info_vram_used" || name == "mem_info_vis_vram_used") {
      return fmt::format("{}\n", module.pool->used(static_cast<int>(node->index)));
    }
    if (name == "mem_info_gtt_used") {
      return fmt::format("{}\n", gtt_used(module, *node));
    }
  }
  return Error{ENOENT, path, ""};
}

}  // namespace vgpu::driver
