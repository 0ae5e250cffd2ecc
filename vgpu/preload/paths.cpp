#include "preload/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "preload/device.h"

namespace vgpu::preload {
namespace {

constexpr char kDrmClass[] = "/sys/class/drm";
constexpr const char* kRoots[] = {
    "/dev/kfd",
    "/dev/dri",
    "/sys/class/kfd",
    "/sys/devices/virtual/kfd",
    "/sys/module/amdgpu",
    "/sys/kernel/debug/kfd",
    kDrmClass,
};
// The machine has such directories too: what is in the tree is ours. The directory of a device, the
// so many-th part of a name, is ours or the machine's as a whole.
constexpr struct {
  const char* start;
  int parts;
} kShared[] = {
    {"/sys/devices/pci", 4},
    {"/sys/bus/pci/devices/", 5},
    {"/sys/dev/char/226:", 4},  // DRM's major number
};
constexpr const char* kDrmNodes[] = {"/dev/dri/renderD", "/dev/dri/card"};

std::atomic<bool> has_open_directory{false};

bool starts_with(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

// A directory or below it.
bool is_within(const char* path, const char* root) {
  const size_t length = strlen(root);
  return strncmp(path, root, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

// Removes "//" and "/./"; with `up`, also "/x/..", as if there were no symbolic links.
bool normalize(const char* name, bool up, char (&out)[kMaxName]) {
  size_t length = 0;
  while (*name != '\0') {
    while (*name == '/') {
      ++name;
    }
    const size_t part = strcspn(name, "/");
    if (up && part == 2 && name[0] == '.' && name[1] == '.') {
      while (length > 0 && out[--length] != '/') {
      }
    } else if (part > 0 && !(part == 1 && name[0] == '.')) {
      if (length + part + 2 > sizeof out) {
        return false;
      }
      out[length++] = '/';
      memcpy(out + length, name, part);
      length += part;
    }
    name += part;
  }
  out[length] = '\0';
  return true;
}

PathKind kind_of(const char* name, gp::u32& minor) {
  if (strcmp(name, "/dev/kfd") == 0) {
    return PathKind::kfd;
  }
  for (const char* node : kDrmNodes) {
    if (starts_with(name, node)) {
      char* end = nullptr;
      minor = static_cast<gp::u32>(strtoul(name + strlen(node), &end, 10));
      return *end == '\0' ? PathKind::render : PathKind::tree;
    }
  }
  return PathKind::tree;
}

// Whether the tree has what the first parts of the name stand for.
bool is_in_tree(const char* name, int parts) {
  const char* end = name;
  for (int part = 0; part < parts && *end != '\0'; ++part) {
    end += 1 + strcspn(end + 1, "/");
  }
  char place[kMaxDirectory + kMaxName];
  snprintf(place, sizeof place, "%s%.*s", device()->tree, static_cast<int>(end - name), name);
  const int saved = errno;
  const bool found = syscall(SYS_faccessat, AT_FDCWD, place, F_OK) == 0;
  errno = saved;
  return found;
}

bool is_ours(const char* name) {
  for (const char* root : kRoots) {
    if (is_within(name, root)) {
      return true;
    }
  }
  for (const auto& shared : kShared) {
    if (starts_with(name, shared.start)) {
      return is_in_tree(name, shared.parts);
    }
  }
  return false;
}

// Names of a GPU's files lead through symbolic links. Of the others only /sys/class/kfd/kfd is one,
// and nobody goes up from there.
bool leads_through_links(const char* name) {
  for (const auto& shared : kShared) {
    if (starts_with(name, shared.start)) {
      return true;
    }
  }
  return is_within(name, kDrmClass);
}

// Cheap enough for every open of every program: most names end here.
bool may_be_ours(const char* name) {
  if (name == nullptr || name[0] != '/') {
    return false;
  }
  while (name[0] == '/') {
    ++name;
  }
  return (starts_with(name, "dev/") || starts_with(name, "sys/")) && device() != nullptr;
}

}  // namespace

bool resolve(const char* name, Path& path) {
  if (!may_be_ours(name) || !normalize(name, true, path.name) || !is_ours(path.name)) {
    return false;
  }
  // Where "/x/.." leads is up to the links, as on a real sysfs: amd-smi lists
  // /sys/class/drm/card0/.. to find the other node of a GPU.
  if (strstr(name, "/..") != nullptr && leads_through_links(path.name) &&
      !normalize(name, false, path.name)) {
    return false;
  }
  const Device& here = *device();
  memcpy(path.place, here.tree, here.tree_length);
  strcpy(path.place + here.tree_length, path.name);
  path.kind = kind_of(path.name, path.minor);
  return true;
}

bool resolve_at(int directory, const char* name, Path& path) {
  if (name == nullptr || name[0] == '/') {
    return resolve(name, path);
  }
  if (name[0] == '\0' || !has_open_directory.load(std::memory_order_relaxed)) {
    return false;
  }
  char link[32], full[kMaxDirectory + kMaxName];
  if (directory == AT_FDCWD) {
    strcpy(link, "/proc/self/cwd");
  } else {
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  }
  const int saved = errno;
  const ssize_t length = readlink(link, full, sizeof full - 1);
  errno = saved;
  if (length <= 0) {
    return false;
  }
  full[length] = '\0';
  if (!is_within(full, device()->tree)) {
    return false;
  }
  restore_name(full);
  const size_t used = strlen(full);
  if (used + strlen(name) + 2 > sizeof full) {
    return false;
  }
  full[used] = '/';
  strcpy(full + used + 1, name);
  return resolve(full, path);
}

void note_open_directory() { has_open_directory.store(true, std::memory_order_relaxed); }

void restore_name(char* text) {
  const Device* here = device();
  if (here != nullptr && is_within(text, here->tree)) {
    memmove(text, text + here->tree_length, strlen(text + here->tree_length) + 1);
  }
}

}  // namespace vgpu::preload
