#include "preload/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "preload/device.h"

namespace vgpu::preload {
namespace {

constexpr const char* kRoots[] = {
    "/dev/kfd",           "/dev/dri",
    "/sys/class/kfd",     "/sys/devices/virtual/kfd",
    "/sys/module/amdgpu", "/sys/kernel/debug/kfd",
};
constexpr const char* kGenerated[] = {
    "/sys/class/kfd/kfd/proc/",
    "/sys/devices/virtual/kfd/kfd/proc/",
    "/sys/kernel/debug/kfd/",
};
constexpr char kRender[] = "/dev/dri/renderD";

std::atomic<bool> has_open_directory{false};

bool starts_with(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

// A directory or below it.
bool is_within(const char* path, const char* root) {
  const size_t length = strlen(root);
  return strncmp(path, root, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

// Removes "//", "/./" and "/x/..". Symbolic links do not matter: below our roots only
// /sys/class/kfd/kfd is one, and nobody goes up from there.
bool normalize(const char* name, char (&out)[kMaxName]) {
  size_t length = 0;
  while (*name != '\0') {
    while (*name == '/') {
      ++name;
    }
    const size_t part = strcspn(name, "/");
    if (part == 2 && name[0] == '.' && name[1] == '.') {
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
  if (starts_with(name, kRender)) {
    char* end = nullptr;
    minor = static_cast<gp::u32>(strtoul(name + sizeof(kRender) - 1, &end, 10));
    return *end == '\0' ? PathKind::render : PathKind::tree;
  }
  for (const char* prefix : kGenerated) {
    if (starts_with(name, prefix)) {
      return PathKind::generated;
    }
  }
  return PathKind::tree;
}

bool is_ours(const char* name) {
  for (const char* root : kRoots) {
    if (is_within(name, root)) {
      return true;
    }
  }
  return false;
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
  if (!may_be_ours(name) || !normalize(name, path.name) || !is_ours(path.name)) {
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
