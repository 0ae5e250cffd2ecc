// What `gpreempt doctor` concludes, on machines made of a few files.
#include "cli/diagnosis.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>

namespace gp::cli {
namespace {

constexpr gid_t kRenderGid = 54105;  // no group of that number has a name here

// Files with contents, and device files that may or may not be opened.
class Machine final : public Os {
 public:
  std::map<std::string, std::string> files;
  std::map<std::string, int> device_errors;  // path -> what opening it gives; 0: a file
  mode_t device_mode = S_IFCHR | 0660;

  Result<std::string> read_file(const std::string& path) override {
    const auto found = files.find(path);
    return found != files.end() ? Result<std::string>(found->second) : missing(path);
  }
  Result<std::vector<std::string>> list_directory(const std::string& path) override {
    std::vector<std::string> names;
    for (const auto& [file, text] : files) {
      if (file.starts_with(path + "/")) {
        const std::string rest = file.substr(path.size() + 1);
        const std::string name = rest.substr(0, rest.find('/'));
        if (names.empty() || names.back() != name) {
          names.push_back(name);
        }
      }
    }
    return names.empty() ? Result<std::vector<std::string>>(missing(path)) : names;
  }
  Result<std::string> read_link(const std::string& path) override { return missing(path); }
  Result<FileStatus> status(const std::string& path) override {
    if (!device_errors.contains(path)) {
      return missing(path);
    }
    FileStatus status;
    status.mode = device_mode;
    status.gid = kRenderGid;
    return status;
  }
  Result<UniqueFd> open(const std::string& path, int) override {
    const auto found = device_errors.find(path);
    if (found == device_errors.end()) {
      return missing(path);
    }
    if (found->second != 0) {
      return Error{found->second, "open " + path, ""};
    }
    return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  }

 private:
  static Error missing(const std::string& path) { return Error{ENOENT, path, ""}; }
};

class Doctor : public testing::Test {
 protected:
  Doctor() {
    const std::string node = "/sys/class/kfd/kfd/topology/nodes/1/";
    machine_.files = {{node + "gpu_id", "9770\n"},
                      {node + "name", "aldebaran\n"},
                      {node + "properties",
                       "simd_count 32\nsimd_per_cu 4\ngfx_target_version 90010\n"
                       "drm_render_minor 128\nnum_cp_queues 24\ncwsr_size 4886528\nctl_stack_size "
                       "4096\nnum_xcc 1\n"},
                      {"/sys/module/amdgpu/parameters/cwsr_enable", "1\n"},
                      {"/sys/module/amdgpu/parameters/sched_policy", "0\n"}};
    machine_.device_errors = {{"/dev/kfd", 0}, {"/dev/dri/renderD128", 0}};
  }
  Diagnosis diagnosis(std::optional<unsigned> gpu = {}) {
    return diagnose(machine_, {}, who_, {.debugfs = false}, gpu);
  }
  void add_second_gpu() {
    const std::string node = "/sys/class/kfd/kfd/topology/nodes/2/";
    machine_.files[node + "gpu_id"] = "50273\n";
    machine_.files[node + "name"] = "aldebaran\n";
    machine_.files[node + "properties"] =
        "simd_count 32\nsimd_per_cu 4\ngfx_target_version 90010\ndrm_render_minor 129\n";
  }
  static Finding finding(const Diagnosis& diagnosis, const std::string& subject) {
    for (const Finding& each : diagnosis.findings) {
      if (each.subject == subject) {
        return each;
      }
    }
    ADD_FAILURE() << "nothing is said of " << subject;
    return {};
  }
  Machine machine_;
  Identity who_ = {1000, "alice"};
};

TEST_F(Doctor, AForbiddenDeviceIsExitCode4WithTheGroupAsANumber) {
  machine_.device_errors["/dev/kfd"] = EACCES;
  const Diagnosis result = diagnosis();
  const Finding device = finding(result, "device");
  EXPECT_EQ(device.health, Health::bad);
  EXPECT_NE(device.fix.find("--group-add 54105"), std::string::npos) << device.fix;
  EXPECT_NE(device.fix.find("alice"), std::string::npos) << device.fix;
  EXPECT_EQ(result.exit_code(), exit_permission);
}

TEST_F(Doctor, ADeviceThatItsGroupMayNotUseNeedsAnotherFix) {
  machine_.device_errors["/dev/kfd"] = EACCES;
  machine_.device_mode = S_IFCHR | 0600;
  EXPECT_NE(finding(diagnosis(), "device").fix.find("chmod"), std::string::npos);
}

TEST_F(Doctor, AMissingDeviceIsExitCode3) {
  machine_.device_errors.erase("/dev/kfd");
  const Diagnosis result = diagnosis();
  EXPECT_NE(finding(result, "device").fix.find("--device /dev/kfd"), std::string::npos);
  EXPECT_EQ(result.exit_code(), exit_no_device);
}

TEST_F(Doctor, AForbiddenRenderNodeIsNamed) {
  machine_.device_errors["/dev/dri/renderD128"] = EACCES;
  const Diagnosis result = diagnosis();
  EXPECT_NE(finding(result, "render nodes").text.find("renderD128"), std::string::npos);
  EXPECT_EQ(result.exit_code(), exit_permission);
}

// A container is given one GPU of eight: the driver lists all.
TEST_F(Doctor, AGpuThatIsHiddenLimitsOnlyWhoeverMeansIt) {
  add_second_gpu();
  const Diagnosis result = diagnosis();
  EXPECT_EQ(finding(result, "render nodes").health, Health::limited);
  EXPECT_NE(finding(result, "render nodes").text.find("1 of 2 can be used: GPU 0"),
            std::string::npos);
  EXPECT_EQ(result.exit_code(), exit_ok);
  EXPECT_EQ(diagnosis(0).exit_code(), exit_ok);
  const Diagnosis hidden = diagnosis(1);
  EXPECT_EQ(hidden.exit_code(), exit_no_device);
  EXPECT_NE(finding(hidden, "render nodes").fix.find("or another GPU: 0"), std::string::npos);
}

TEST_F(Doctor, FirmwareIsToldByGpu) {
  machine_.files["/sys/class/kfd/kfd/topology/nodes/1/properties"] += "fw_version 71\n";
  add_second_gpu();
  const Finding firmware = finding(diagnosis(), "debug firmware");
  EXPECT_EQ(firmware.health, Health::unknown) << "the version of the interface is not";
  EXPECT_EQ(firmware.text, "GPU 0: version 71, not known; GPU 1: version N/A, not known");
}

TEST_F(Doctor, AContainerIsSeenByItsMark) {
  EXPECT_EQ(finding(diagnosis(), "container").text, "no sign of one");
  machine_.device_errors["/run/.containerenv"] = 0;
  EXPECT_EQ(finding(diagnosis(), "container").text, "in one (/run/.containerenv is there)");
}

TEST_F(Doctor, WaveSaveIsToldWithItsMemory) {
  EXPECT_NE(finding(diagnosis(), "wave save (CWSR)").text.find("4.7M on GPU 9770"),
            std::string::npos);
  machine_.files["/sys/module/amdgpu/parameters/cwsr_enable"] = "0\n";
  EXPECT_EQ(finding(diagnosis(), "wave save (CWSR)").health, Health::limited);
  machine_.files.erase("/sys/module/amdgpu/parameters/cwsr_enable");
  EXPECT_EQ(finding(diagnosis(), "wave save (CWSR)").health, Health::unknown);
}

TEST_F(Doctor, PtraceScopeLimitsUsersAndNotRoot) {
  machine_.files["/proc/sys/kernel/yama/ptrace_scope"] = "1\n";
  EXPECT_EQ(finding(diagnosis(), "ptrace").health, Health::limited);
  who_ = {0, "root"};
  EXPECT_EQ(finding(diagnosis(), "ptrace").health, Health::good);
  machine_.files["/proc/sys/kernel/yama/ptrace_scope"] = "3\n";
  EXPECT_EQ(finding(diagnosis(), "ptrace").health, Health::limited);
}

TEST_F(Doctor, UnreadableDebugfsIsALimitAndNoFailure) {
  machine_.device_errors["/sys/kernel/debug/kfd/mqds"] = EACCES;
  const Diagnosis result = diagnosis();
  EXPECT_EQ(finding(result, "debugfs").health, Health::limited);
  EXPECT_NE(finding(result, "debugfs").fix.find("root"), std::string::npos);
  EXPECT_EQ(result.exit_code(), exit_ok);
}

TEST_F(Doctor, AMachineWithoutTheDriverIsExitCode3) {
  machine_.files.clear();
  EXPECT_EQ(diagnosis().exit_code(), exit_no_device);
}

}  // namespace
}  // namespace gp::cli
