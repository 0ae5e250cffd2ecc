// Where things are: the device directories of this user, vgpud and libvgpu.so.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace vgpu::cli {

// $XDG_RUNTIME_DIR/gpreempt-vgpu, or /tmp/gpreempt-vgpu-<uid>. Made (0700) if it does not exist;
// EPERM if somebody else made it.
gp::Result<std::string> devices_directory();

// The runtime directory of the device of that name. EINVAL if no device can be called so.
gp::Result<std::string> directory_of(const std::string& name);

// The names that have a directory, sorted; some may be left over from a server that died.
std::vector<std::string> known_names();

// The name of the device that this process runs a command on.
std::string name_for_run();
// Removes what earlier runs left whose server was killed. Directories in use are not touched.
void remove_dead_runs();

// Both are looked for next to this program, as built and as installed.
gp::Result<std::string> find_server();
gp::Result<std::string> find_preload();

}  // namespace vgpu::cli
