// The virtual device of this process: the runtime directory that its environment names.
#pragma once

#include <stddef.h>

namespace vgpu::preload {

// Names are kept short: they are put together on the stacks of other people's threads.
constexpr size_t kMaxDirectory = 1024;

struct Device {
  char directory[kMaxDirectory];  // no slash at the end
  char tree[kMaxDirectory];       // where the device files are laid out
  size_t tree_length;
};

// Null: the process was not started by `vgpu`; every replaced function then passes through.
const Device* device();

// getenv without getenv: a shell may bring its own, which is not ready when we are first called.
const char* environment(const char* name);

// Says on standard error, once per process, that the server has gone.
void report_lost_device();

}  // namespace vgpu::preload
