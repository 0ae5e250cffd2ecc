// The virtual device of this process: the runtime directory that its environment names.
#pragma once

#include <limits.h>
#include <stddef.h>

namespace vgpu::preload {

struct Device {
  char directory[PATH_MAX];  // no slash at the end
  char tree[PATH_MAX];       // where the device files are laid out
  size_t tree_length;
};

// Null: the process was not started by `vgpu`; every replaced function then passes through.
const Device* device();

// getenv without getenv: a shell may bring its own, which is not ready when we are first called.
const char* environment(const char* name);

// Says on standard error, once per process, that the server has gone.
void report_lost_device();

}  // namespace vgpu::preload
