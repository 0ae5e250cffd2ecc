// The PCI device and its DRM nodes, as programs look for them: by links, upwards, and beside the
// devices that the machine really has.
#include <dirent.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "preload/preload_support.h"

namespace vgpu::preload {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> list(const std::string& path) {
  std::set<std::string> names;
  DIR* directory = ::opendir(path.c_str());
  while (const dirent* entry = directory != nullptr ? ::readdir(directory) : nullptr) {
    if (entry->d_name[0] != '.') {
      names.insert(entry->d_name);
    }
  }
  if (directory != nullptr) {
    ::closedir(directory);
  }
  return names;
}

TEST(DeviceFiles, AreFoundByEveryNameTheyHave) {
  for (const char* directory :
       {"/sys/class/drm/card0/device", "/sys/class/drm/renderD128/device",
        "/sys/dev/char/226:128/device", "/sys/bus/pci/devices/0000:01:00.0",
        "/sys/devices/pci0000:01/0000:01:00.0", "/sys/class/drm/renderD128/../card0/device"}) {
    EXPECT_EQ(text_of(std::string(directory) + "/vendor"), "0x1002\n") << directory;
    EXPECT_EQ(text_of(std::string(directory) + "/gpu_busy_percent"), "0\n") << directory;
  }
}

TEST(DeviceFiles, UpwardsIsWhereTheLinksLead) {
  EXPECT_EQ(list("/sys/class/drm/card0/.."), (std::set<std::string>{"card0", "renderD128"}));
  EXPECT_EQ(list("/sys/class/drm/"), (std::set<std::string>{"card0", "renderD128", "version"}));
  char path[PATH_MAX];
  ASSERT_NE(::realpath("/sys/class/drm/card0/device/driver", path), nullptr);
  EXPECT_STREQ(path, "/sys/bus/pci/drivers/amdgpu");
}

TEST(DeviceFiles, BothNodesAreDeviceNodesAndCanBeOpened) {
  for (const auto& [name, number] :
       {std::pair{"/dev/dri/card0", 0u}, {"/dev/dri/renderD128", 128u}}) {
    struct stat status {};
    ASSERT_EQ(::stat(name, &status), 0) << name;
    EXPECT_TRUE(S_ISCHR(status.st_mode)) << name;
    EXPECT_EQ(status.st_rdev, makedev(226, number)) << name;
    EXPECT_TRUE(UniqueFd(::open(name, O_RDWR | O_CLOEXEC))) << name;
  }
  EXPECT_EQ(::open("/dev/dri/card1", O_RDWR), -1);
  EXPECT_EQ(errno, ENOENT);
}

// libdrm knows a node that is open by its number, whoever has opened others since.
TEST(DeviceFiles, AnOpenNodeIsStillThatNode) {
  const UniqueFd card(::open("/dev/dri/card0", O_RDWR | O_CLOEXEC));
  const UniqueFd render(::open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC));
  const UniqueFd copy(::dup(card.get()));
  for (const auto& [fd, number] :
       {std::pair{card.get(), 0u}, {render.get(), 128u}, {copy.get(), 0u}}) {
    struct stat status {};
    struct stat64 large {};
    ASSERT_EQ(::fstat(fd, &status), 0);
    ASSERT_EQ(::fstat64(fd, &large), 0);
    EXPECT_TRUE(S_ISCHR(status.st_mode));
    EXPECT_EQ(status.st_rdev, makedev(226, number));
    EXPECT_EQ(large.st_rdev, makedev(226, number));
  }
  struct stat other {};
  ASSERT_EQ(::fstat(STDERR_FILENO, &other), 0);
  EXPECT_NE(other.st_rdev, makedev(226, 0));
}

// Who looks in /proc for users of the GPU finds them.
TEST(DeviceFiles, AnOpenFileHasTheNameOfItsDevice) {
  for (const char* name : {"/dev/kfd", "/dev/dri/card0", "/dev/dri/renderD128", "/dev/null"}) {
    const UniqueFd file(::open(name, O_RDWR | O_CLOEXEC));
    const std::string number = std::to_string(file.get());
    for (const std::string& process : {std::string("self"), std::to_string(::getpid())}) {
      EXPECT_EQ(fs::read_symlink("/proc/" + process + "/fd/" + number), name);
    }
    char text[32] = {};
    const std::string link = "/proc/self/fd/" + number;
    ASSERT_GT(::readlinkat(AT_FDCWD, link.c_str(), text, sizeof text - 1), 0);
    EXPECT_STREQ(text, name);
  }
}

TEST(DeviceFiles, ANameThatDoesNotFitIsCutOffAsReadlinkDoes) {
  const UniqueFd file = open_kfd();
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  char text[8];
  EXPECT_LE(::readlink(link.c_str(), text, sizeof text), static_cast<ssize_t>(sizeof text));
}

// struct drm_version of drm.h
struct Version {
  int major = 0, minor = 0, patch = 0;
  size_t name_length = 0;
  char* name = nullptr;
  size_t date_length = 0;
  char* date = nullptr;
  size_t description_length = 0;
  char* description = nullptr;
};
constexpr unsigned long kGetVersion = _IOWR('d', 0, Version);

TEST(DeviceFiles, TheNodesSayThatTheyAreAmdgpus) {
  const UniqueFd node(::open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC));
  char name[16] = {}, date[4] = {};
  Version version{.name_length = sizeof name, .name = name, .date_length = 2, .date = date};
  ASSERT_EQ(::ioctl(node.get(), kGetVersion, &version), 0);
  EXPECT_EQ(version.major, 3);
  EXPECT_EQ(version.name_length, 6u);
  EXPECT_STREQ(name, "amdgpu");
  EXPECT_EQ(version.date_length, 8u);  // there is more than there was room for
  EXPECT_STREQ(date, "20");
  EXPECT_EQ(version.description_length, 7u);
}

TEST(DeviceFiles, WrongCallsOnANodeAreRefused) {
  const UniqueFd node(::open("/dev/dri/card0", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(::ioctl(node.get(), kGetVersion, nullptr), -1);
  EXPECT_EQ(errno, EFAULT);
  Version version{.name_length = 8, .name = reinterpret_cast<char*>(8)};
  EXPECT_EQ(::ioctl(node.get(), kGetVersion, &version), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(::ioctl(node.get(), _IOWR('d', 0x45, Version), &version), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(::ioctl(STDERR_FILENO, kGetVersion, &version), -1);
  EXPECT_EQ(errno, ENOTTY);
}

TEST(DeviceFiles, MemoryInUseFollowsAnAllocation) {
  constexpr char kUsed[] = "/sys/class/drm/card0/device/mem_info_vram_used";
  EXPECT_EQ(text_of(kUsed), "0\n");
  Gpu gpu;
  ASSERT_NE(gpu.allocate(gp::abi::alloc_vram, 1 << 20), 0u);
  EXPECT_EQ(text_of(kUsed), "1048576\n");
}

// What the machine has of its own stays in sight.
TEST(DeviceFiles, TheMachinesOwnDevicesAreStillThere) {
  u32 looked = 0;
  for (const char* place : {"/sys/bus/pci/devices", "/sys/devices"}) {
    for (const std::string& name : list(place)) {
      const std::string path = std::string(place) + "/" + name;
      EXPECT_TRUE(fs::exists(path)) << path;
      ++looked;
    }
  }
  EXPECT_GT(looked, 0u);
  EXPECT_FALSE(fs::exists("/sys/devices/pci0000:77/0000:77:00.0/vendor"));
  EXPECT_FALSE(fs::exists("/sys/dev/char/226:77"));
}

}  // namespace
}  // namespace vgpu::preload
