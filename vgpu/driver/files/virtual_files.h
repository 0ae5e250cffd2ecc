// Files whose text is made when they are read.
#pragma once

#include <string>

#include "driver/module.h"

namespace vgpu::driver {

// /sys/class/kfd/kfd/proc/...; `path` is what follows "proc/".
Result<std::string> read_process_file(Module& module, const std::string& path);

// What changes of a PCI device; `path` is its real name, below /sys/devices.
Result<std::string> read_device_file(Module& module, const std::string& path);

// /sys/kernel/debug/kfd (kfd_debugfs.c)
std::string debugfs_mqds(Module& module);
std::string debugfs_hqds(Module& module);
std::string debugfs_rls(Module& module);
std::string debugfs_mem_limit(Module& module);

}  // namespace vgpu::driver
