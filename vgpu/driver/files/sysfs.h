// What the driver shows below /sys and /dev: the topology of the machine, one directory per
// process, the PCI devices and their DRM nodes, module parameters, and the device nodes as empty
// files.
//
// The tree is laid out as real directories and files below DriverConfig::tree, so that readdir and
// inotify work. Files that never change have their text in the tree; the others are empty there and
// their text is made when the server asks (Driver::read_file).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/driver.h"
#include "driver/node.h"

namespace vgpu::driver {

// The text of one file is data: path (of a topology file: below topology/) and contents.
struct StaticFile {
  std::string path;
  std::string text;
};
std::vector<StaticFile> topology_files(const std::vector<std::unique_ptr<Node>>& nodes,
                                       bool has_debugger, u64 vram_bytes);

// The PCI devices and their DRM nodes (drm.cpp). Paths start with /sys.
struct DeviceFiles {
  std::vector<StaticFile> files;
  std::vector<std::string> generated;  // Driver::read_file makes their text
  struct Link {
    std::string path, target;  // both as the program sees them
  };
  std::vector<Link> links;
};
DeviceFiles device_files(const std::vector<std::unique_ptr<Node>>& nodes, u64 vram_bytes,
                         u64 gtt_bytes);

// The capability and debug_prop words of a node (kfd_topology_set_capabilities).
void set_capabilities(Node& node, bool has_debugger);

class SysfsTree {
 public:
  static Result<std::unique_ptr<SysfsTree>> create(const DriverConfig& config,
                                                   const std::vector<std::unique_ptr<Node>>& nodes,
                                                   u64 gtt_bytes);

  // /sys/class/kfd/kfd/proc/<pid>
  void add_process(pid_t pid);
  void remove_process(pid_t pid);
  void add_queue(pid_t pid, u32 queue_id);
  void remove_queue(pid_t pid, u32 queue_id);

  // The name without symbolic links, if there is such a file: "/sys/class/drm/card0/device/vendor"
  // is a file of the PCI device.
  std::string real_name(const std::string& path) const;

  // The text of a file that never changes, or null. `path` starts with /sys.
  const std::string* find(const std::string& path) const;

 private:
  SysfsTree(std::string root, std::vector<u32> gpu_ids, bool kernel_patches)
      : root_(std::move(root)), gpu_ids_(std::move(gpu_ids)), kernel_patches_(kernel_patches) {}
  std::string process_dir(pid_t pid) const;
  Status lay_out(DeviceFiles devices);

  std::string root_;
  std::vector<u32> gpu_ids_;
  bool kernel_patches_;            // processes have preempted_ms
  std::vector<StaticFile> files_;  // sorted by path
};

// "/sys/devices/virtual/kfd/kfd/..." names the same files as "/sys/class/kfd/kfd/...": the latter.
std::string canonical_path(std::string_view path);

}  // namespace vgpu::driver
