// The commands of `vgpu`, each from its parsed options to its exit code.
#pragma once

#include <string>
#include <vector>

namespace vgpu::cli {

struct DeviceOptions {
  std::vector<std::string> words;  // for vgpud: "--cus", "8", ...
};

// Runs a command on a device of its own; the exit status is the command's.
int run(const DeviceOptions& options, bool show_stats, std::vector<std::string> command);

int start(const std::string& name, const DeviceOptions& options);
int exec(const std::string& name, std::vector<std::string> command);
int stop(const std::string& name);
int list(bool json);
// Empty name: the device this program runs on, or the only one there is.
int stats(const std::string& name, bool json);
int inject(const std::string& name, const std::string& fault);

}  // namespace vgpu::cli
