// Whatever else takes a file name: access, chdir, readlink, realpath, statfs, extended attributes,
// inotify; and popen, for one question.
#include <glob.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/kfd_file.h"
#include "preload/paths.h"

namespace {

using namespace vgpu::preload;

// clang-format off
VGPU_ORIGINAL(access,      int(const char*, int));
VGPU_ORIGINAL(eaccess,     int(const char*, int));
VGPU_ORIGINAL(euidaccess,  int(const char*, int));
VGPU_ORIGINAL(faccessat,   int(int, const char*, int, int));
VGPU_ORIGINAL(chdir,       int(const char*));
VGPU_ORIGINAL(readlink,    ssize_t(const char*, char*, size_t));
VGPU_ORIGINAL(readlinkat,  ssize_t(int, const char*, char*, size_t));
VGPU_ORIGINAL(realpath,    char*(const char*, char*));
VGPU_ORIGINAL(__realpath_chk, char*(const char*, char*, size_t));
VGPU_ORIGINAL(canonicalize_file_name, char*(const char*));
VGPU_ORIGINAL(statfs,      int(const char*, struct statfs*));
VGPU_ORIGINAL(statfs64,    int(const char*, struct statfs64*));
VGPU_ORIGINAL(statvfs,     int(const char*, struct statvfs*));
VGPU_ORIGINAL(statvfs64,   int(const char*, struct statvfs64*));
VGPU_ORIGINAL(inotify_add_watch, int(int, const char*, uint32_t));
VGPU_ORIGINAL(popen,       FILE*(const char*, const char*));
VGPU_ORIGINAL(__readlink_chk, ssize_t(const char*, char*, size_t, size_t));
VGPU_ORIGINAL(__readlinkat_chk, ssize_t(int, const char*, char*, size_t, size_t));
VGPU_ORIGINAL(glob,        int(const char*, int, int (*)(const char*, int), glob_t*));
VGPU_ORIGINAL(glob64,      int(const char*, int, int (*)(const char*, int), glob64_t*));
VGPU_ORIGINAL(getxattr,    ssize_t(const char*, const char*, void*, size_t));
VGPU_ORIGINAL(lgetxattr,   ssize_t(const char*, const char*, void*, size_t));
VGPU_ORIGINAL(listxattr,   ssize_t(const char*, char*, size_t));
VGPU_ORIGINAL(llistxattr,  ssize_t(const char*, char*, size_t));
// clang-format on

// Where the file lies, or the name as it is.
const char* place_of(const char* name, Path& path) {
  return resolve(name, path) ? path.place : name;
}

bool is_sysfs(const Path& path) {
  constexpr char kClass[] = "/sys/class/", kDevices[] = "/sys/devices/";
  return path.kind != PathKind::foreign && (strncmp(path.name, kClass, sizeof kClass - 1) == 0 ||
                                            strncmp(path.name, kDevices, sizeof kDevices - 1) == 0);
}

// The files of sysfs are on a sysfs, which tells programs what their inode numbers mean.
template <class System>
int as_sysfs(const Path& path, int result, System* system) {
  if (result == 0 && is_sysfs(path)) {
    system->f_type = SYSFS_MAGIC;
  }
  return result;
}

template <class List>
int with_names_restored(int result, List* list) {
  for (size_t i = 0; result == 0 && i < list->gl_pathc; ++i) {
    restore_name(list->gl_pathv[list->gl_offs + i]);
  }
  return result;
}

}  // namespace

VGPU_EXPORT int access(const char* file, int mode) noexcept {
  Path path;
  return original_access(place_of(file, path), mode);
}

VGPU_EXPORT int eaccess(const char* file, int mode) noexcept {
  Path path;
  return original_eaccess(place_of(file, path), mode);
}

VGPU_EXPORT int euidaccess(const char* file, int mode) noexcept {
  Path path;
  return original_euidaccess(place_of(file, path), mode);
}

VGPU_EXPORT int statfs(const char* file, struct statfs* system) noexcept {
  Path path;
  return as_sysfs(path, original_statfs(place_of(file, path), system), system);
}

VGPU_EXPORT int statfs64(const char* file, struct statfs64* system) noexcept {
  Path path;
  return as_sysfs(path, original_statfs64(place_of(file, path), system), system);
}

VGPU_EXPORT int statvfs(const char* file, struct statvfs* system) noexcept {
  Path path;
  return original_statvfs(place_of(file, path), system);
}

VGPU_EXPORT int statvfs64(const char* file, struct statvfs64* system) noexcept {
  Path path;
  return original_statvfs64(place_of(file, path), system);
}

VGPU_EXPORT int faccessat(int directory, const char* file, int mode, int flags) noexcept {
  Path path;
  return original_faccessat(directory, place_of(file, path), mode, flags);
}

VGPU_EXPORT int chdir(const char* name) noexcept {
  Path path;
  if (!resolve(name, path)) {
    return original_chdir(name);
  }
  note_open_directory();
  return original_chdir(path.place);
}

VGPU_EXPORT ssize_t readlink(const char* file, char* buffer, size_t size) noexcept {
  Path path;
  const ssize_t length = device_file_name(file, buffer, size);
  return length > 0 ? length : original_readlink(place_of(file, path), buffer, size);
}

VGPU_EXPORT ssize_t readlinkat(int directory, const char* file, char* buffer,
                               size_t size) noexcept {
  Path path;
  const ssize_t length = device_file_name(file, buffer, size);
  return length > 0 ? length : original_readlinkat(directory, place_of(file, path), buffer, size);
}

VGPU_EXPORT ssize_t __readlink_chk(const char* file, char* buffer, size_t size,
                                   size_t capacity) noexcept {
  Path path;
  const ssize_t length = device_file_name(file, buffer, size);
  return length > 0 ? length
                    : original___readlink_chk(place_of(file, path), buffer, size, capacity);
}

VGPU_EXPORT ssize_t __readlinkat_chk(int directory, const char* file, char* buffer, size_t size,
                                     size_t capacity) noexcept {
  Path path;
  const ssize_t length = device_file_name(file, buffer, size);
  return length > 0
             ? length
             : original___readlinkat_chk(directory, place_of(file, path), buffer, size, capacity);
}

VGPU_EXPORT char* realpath(const char* file, char* buffer) noexcept {
  Path path;
  if (!resolve(file, path)) {
    return original_realpath(file, buffer);
  }
  char* result = original_realpath(path.place, buffer);
  if (result != nullptr) {
    restore_name(result);
  }
  return result;
}

VGPU_EXPORT char* __realpath_chk(const char* file, char* buffer, size_t size) noexcept {
  Path path;
  return resolve(file, path) ? realpath(file, buffer) : original___realpath_chk(file, buffer, size);
}

VGPU_EXPORT char* canonicalize_file_name(const char* file) noexcept {
  Path path;
  return resolve(file, path) ? realpath(file, nullptr) : original_canonicalize_file_name(file);
}

// ls asks for access control lists.
VGPU_EXPORT ssize_t getxattr(const char* file, const char* name, void* value,
                             size_t size) noexcept {
  Path path;
  return original_getxattr(place_of(file, path), name, value, size);
}

VGPU_EXPORT ssize_t lgetxattr(const char* file, const char* name, void* value,
                              size_t size) noexcept {
  Path path;
  return original_lgetxattr(place_of(file, path), name, value, size);
}

VGPU_EXPORT ssize_t listxattr(const char* file, char* list, size_t size) noexcept {
  Path path;
  return original_listxattr(place_of(file, path), list, size);
}

VGPU_EXPORT ssize_t llistxattr(const char* file, char* list, size_t size) noexcept {
  Path path;
  return original_llistxattr(place_of(file, path), list, size);
}

VGPU_EXPORT int inotify_add_watch(int fd, const char* file, uint32_t mask) noexcept {
  Path path;
  return original_inotify_add_watch(fd, place_of(file, path), mask);
}

// libc's glob lists directories by itself: it is given the place and the names are put right.
VGPU_EXPORT int glob(const char* pattern, int flags, int (*on_error)(const char*, int),
                     glob_t* list) noexcept {
  Path path;
  const bool ours = resolve(pattern, path);
  const int result = original_glob(ours ? path.place : pattern, flags, on_error, list);
  return ours ? with_names_restored(result, list) : result;
}

VGPU_EXPORT int glob64(const char* pattern, int flags, int (*on_error)(const char*, int),
                       glob64_t* list) noexcept {
  Path path;
  const bool ours = resolve(pattern, path);
  const int result = original_glob64(ours ? path.place : pattern, flags, on_error, list);
  return ours ? with_names_restored(result, list) : result;
}

// rocminfo 5.2 asks lsmod whether the driver is loaded. A machine without modules has no answer.
VGPU_EXPORT FILE* popen(const char* command, const char* mode) {
  Path path;
  const bool asks = command != nullptr && strstr(command, "lsmod") != nullptr &&
                    strstr(command, "amdgpu") != nullptr && resolve("/sys/module/amdgpu", path);
  return original_popen(asks ? "echo 'amdgpu 16777216 0 - Live'" : command, mode);
}
