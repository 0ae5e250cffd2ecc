// Which file names belong to the virtual device.
#pragma once

#include "libc/types.h"
#include "preload/device.h"

namespace vgpu::preload {

enum class PathKind {
  foreign,  // none of ours: leave it alone
  kfd,      // /dev/kfd
  render,   // /dev/dri/renderD<minor>, and the primary node /dev/dri/card<minor>
  tree,     // lies in the runtime directory; where it is empty the driver makes its text
};

// No file of the device has a longer one.
constexpr size_t kMaxName = 256;

struct Path {
  PathKind kind = PathKind::foreign;
  gp::u32 minor = 0;
  char name[kMaxName];                   // the path as the program means it, without "//" and "."
  char place[kMaxDirectory + kMaxName];  // where it lies in the tree
};

// False, and `path` untouched, if the name is not ours. Absolute names only.
bool resolve(const char* name, Path& path);

// The same for a name relative to an open directory. Opening a directory of the tree is noticed
// (note_open_directory), so that programs which never do pay nothing.
bool resolve_at(int directory, const char* name, Path& path);
void note_open_directory();

// Turns the place of a file in the tree back into its name, in place (readlink, realpath).
void restore_name(char* text);

}  // namespace vgpu::preload
