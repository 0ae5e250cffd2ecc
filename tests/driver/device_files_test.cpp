// The PCI devices and their DRM nodes in sysfs: what they say, in which format, and by which names
// they are found.
#include <filesystem>

#include "driver/driver_support.h"

namespace vgpu::driver {
namespace {

namespace fs = std::filesystem;

constexpr char kDevice[] = "/sys/devices/pci0000:01/0000:01:00.0/";
constexpr char kCard[] = "/sys/class/drm/card0/device/";

class DeviceFilesOfDriver : public DriverTest {
 protected:
  u64 number(const std::string& name) { return std::stoull(read(kCard + name)); }
  std::string link(const std::string& path) { return fs::read_symlink(tree + path).string(); }
};

TEST_F(DeviceFilesOfDriver, IdentityInTheFormatsOfTheKernel) {
  EXPECT_EQ(read(std::string(kCard) + "vendor"), "0x1002\n");
  EXPECT_EQ(read(std::string(kCard) + "device"), "0x740f\n");
  EXPECT_EQ(read(std::string(kCard) + "class"), "0x038000\n");
  EXPECT_EQ(read(std::string(kCard) + "revision"), "0x02\n");
  EXPECT_EQ(read(std::string(kCard) + "unique_id"), "0123456789abcdef\n");
  EXPECT_EQ(read(std::string(kCard) + "fw_version/mec_fw_version"), "0x00000047\n");
  EXPECT_EQ(read(std::string(kCard) + "uevent"),
            "DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:740F\nPCI_SUBSYS_ID=1002:0C34\n"
            "PCI_SLOT_NAME=0000:01:00.0\n"
            "MODALIAS=pci:v00001002d0000740Fsv00001002sd00000C34bc03sc80i00\n");
  EXPECT_EQ(read("/sys/class/drm/renderD128/dev"), "226:128\n");
  EXPECT_EQ(read("/sys/class/drm/card0/uevent"),
            "MAJOR=226\nMINOR=0\nDEVNAME=dri/card0\nDEVTYPE=drm_minor\n");
}

TEST_F(DeviceFilesOfDriver, TheLinksLeadToOneDevice) {
  EXPECT_EQ(link("/sys/class/drm/card0"), "../../devices/pci0000:01/0000:01:00.0/drm/card0");
  EXPECT_EQ(link("/sys/class/drm/card0/device"), "../..");
  EXPECT_EQ(link(std::string(kDevice) + "subsystem"), "../../../bus/pci");
  for (const char* name :
       {"/sys/class/drm/card0/device", "/sys/class/drm/renderD128/device",
        "/sys/dev/char/226:0/device", "/sys/dev/char/226:128/device",
        "/sys/bus/pci/devices/0000:01:00.0", "/sys/bus/pci/drivers/amdgpu/0000:01:00.0"}) {
    EXPECT_EQ(fs::canonical(tree + name), fs::canonical(tree + kDevice)) << name;
    EXPECT_EQ(read(std::string(name) + "/gpu_busy_percent"), "0\n") << name;
  }
}

TEST_F(DeviceFilesOfDriver, MemoryInUseIsWhatProcessesHaveAllocated) {
  const u64 total = driver->stats().gpus.at(0).vram_bytes;
  EXPECT_EQ(number("mem_info_vram_total"), total);
  EXPECT_EQ(number("mem_info_vis_vram_total"), total);
  EXPECT_EQ(number("mem_info_vram_used"), 0u);
  Client client(*driver);
  client.acquire_vm();
  const TestBuffer vram = client.allocate(1 << 20, abi::alloc_vram);
  client.allocate(3 << 20, abi::alloc_gtt);
  EXPECT_EQ(number("mem_info_vram_used"), 1u << 20);
  EXPECT_EQ(number("mem_info_vis_vram_used"), 1u << 20);
  EXPECT_EQ(number("mem_info_gtt_used"), 3u << 20);
  EXPECT_GT(number("mem_info_gtt_total"), 3u << 20);
  client.free(vram);
  client.exit();
  EXPECT_EQ(number("mem_info_vram_used"), 0u);
  EXPECT_EQ(number("mem_info_gtt_used"), 0u);
}

// gpu_metrics is binary; all ones stand for what is not known.
TEST_F(DeviceFilesOfDriver, MetricsKnowTheActivityAndNothingElse) {
  const std::string bytes = read(std::string(kCard) + "gpu_metrics");
  ASSERT_EQ(bytes.size(), 120u);
  EXPECT_EQ(bytes.substr(0, 4), std::string("\x78\x00\x01\x03", 4));
  EXPECT_EQ(bytes.substr(4, 12), std::string(12, '\xff'));   // temperatures
  EXPECT_EQ(bytes.substr(16, 2), std::string(2, '\0'));      // average_gfx_activity
  EXPECT_EQ(bytes.substr(18, 14), std::string(14, '\xff'));  // other activity, power, energy
  EXPECT_EQ(bytes.substr(40, 56), std::string(56, '\xff'));  // clocks to HBM temperatures
  EXPECT_EQ(bytes.substr(104), std::string(16, '\xff'));     // voltages, throttling
}

TEST_F(DeviceFilesOfDriver, EachOfSeveralGpusHasItsOwn) {
  DriverConfig config = small();
  config.gpus = 3;
  start(config);
  Client client(*driver);
  client.acquire_vm(2);
  client.allocate(1 << 20, abi::alloc_vram, 2);
  client.allocate(2 << 20, abi::alloc_gtt, 2);
  EXPECT_EQ(read("/sys/class/drm/card1/device/mem_info_vram_used"), "0\n");
  EXPECT_EQ(read("/sys/class/drm/card1/device/mem_info_gtt_used"), "0\n");
  EXPECT_EQ(read("/sys/class/drm/card2/device/mem_info_vram_used"), "1048576\n");
  EXPECT_EQ(read("/sys/class/drm/card2/device/mem_info_gtt_used"), "2097152\n");
  EXPECT_EQ(read("/sys/class/drm/card2/../renderD130/dev"), "226:130\n");
  EXPECT_FALSE(driver->read_file("/sys/class/drm/card2/../card1/dev"));
  EXPECT_TRUE(driver->open_render(2));
  EXPECT_TRUE(driver->open_render(130));
  for (const u32 none : {3u, 127u, 131u, 256u, 258u}) {
    EXPECT_FALSE(driver->open_render(none)) << none;
  }
}

// Nothing is invented: a virtual device has no sensors, and its clocks cannot be set.
TEST_F(DeviceFilesOfDriver, WhatTheDeviceDoesNotHaveIsNotThere) {
  for (const char* name :
       {"mem_busy_percent", "pp_dpm_sclk", "pcie_bw", "hwmon/hwmon0/temp1_input",
        "hwmon/hwmon0/power1_average", "hwmon/hwmon0/in0_input", "serial_number"}) {
    EXPECT_FALSE(fs::exists(tree + kCard + name)) << name;
    const auto text = driver->read_file(std::string(kCard) + name);
    ASSERT_FALSE(text) << name;
    EXPECT_EQ(text.error().code, ENOENT);
  }
  for (const char* name : {"/sys/class/drm/card1/device/vendor", "/sys/class/drm/../../../etc"}) {
    EXPECT_FALSE(driver->read_file(name)) << name;
  }
}

TEST_F(DeviceFilesOfDriver, WhatALargerMachineLeftIsGone) {
  DriverConfig config = small();
  config.gpus = 2;
  start(config);
  EXPECT_TRUE(fs::exists(tree + "/sys/class/drm/card1"));
  start(small());
  EXPECT_FALSE(fs::is_symlink(tree + "/sys/class/drm/card1"));
  EXPECT_FALSE(fs::exists(tree + "/dev/dri/card1"));
}

}  // namespace
}  // namespace vgpu::driver
