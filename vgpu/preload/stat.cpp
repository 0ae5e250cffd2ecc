// stat, access, readlink and whatever else takes a file name and returns no descriptor.
#define stat libc_stat_declaration  // the functions are defined here: keep libc's inlines away
#undef stat
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/paths.h"

namespace {

using namespace vgpu::preload;

// The kfd device node's number is dynamic; DRM's is not.
constexpr unsigned kKfdMajor = 511, kDrmMajor = 226;
constexpr mode_t kNodeMode = S_IFCHR | 0666;

bool is_node(const Path& path) {
  return path.kind == PathKind::kfd || path.kind == PathKind::render;
}

dev_t node_number(const Path& path) {
  return path.kind == PathKind::kfd ? makedev(kKfdMajor, 0) : makedev(kDrmMajor, path.minor);
}

// In the tree the device nodes are plain files: show them as what they stand for.
template <class Stat>
int as_node(const Path& path, int result, Stat* status) {
  if (result == 0 && is_node(path)) {
    status->st_mode = kNodeMode;
    status->st_rdev = node_number(path);
    status->st_size = 0;
  }
  return result;
}

// clang-format off
VGPU_ORIGINAL(stat,        int(const char*, struct stat*));
VGPU_ORIGINAL(stat64,      int(const char*, struct stat64*));
VGPU_ORIGINAL(lstat,       int(const char*, struct stat*));
VGPU_ORIGINAL(lstat64,     int(const char*, struct stat64*));
VGPU_ORIGINAL(fstatat,     int(int, const char*, struct stat*, int));
VGPU_ORIGINAL(fstatat64,   int(int, const char*, struct stat64*, int));
VGPU_ORIGINAL(statx,       int(int, const char*, int, unsigned, struct statx*));
VGPU_ORIGINAL(__xstat,     int(int, const char*, struct stat*));
VGPU_ORIGINAL(__xstat64,   int(int, const char*, struct stat64*));
VGPU_ORIGINAL(__lxstat,    int(int, const char*, struct stat*));
VGPU_ORIGINAL(__lxstat64,  int(int, const char*, struct stat64*));
VGPU_ORIGINAL(__fxstatat,  int(int, int, const char*, struct stat*, int));
VGPU_ORIGINAL(__fxstatat64, int(int, int, const char*, struct stat64*, int));
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
VGPU_ORIGINAL(inotify_add_watch, int(int, const char*, uint32_t));
VGPU_ORIGINAL(popen,       FILE*(const char*, const char*));
// clang-format on

}  // namespace

#define VGPU_STAT(name, type)                                                               \
  VGPU_EXPORT int name(const char* file, struct type* status) noexcept {                    \
    Path path;                                                                              \
    return resolve(file, path) ? as_node(path, original_##name(path.place, status), status) \
                               : original_##name(file, status);                             \
  }
#define VGPU_STATAT(name, type)                                                                    \
  VGPU_EXPORT int name(int directory, const char* file, struct type* status, int flags) noexcept { \
    Path path;                                                                                     \
    return resolve(file, path)                                                                     \
               ? as_node(path, original_##name(directory, path.place, status, flags), status)      \
               : original_##name(directory, file, status, flags);                                  \
  }
// What programs built before glibc 2.33 call.
#define VGPU_XSTAT(name, type)                                                        \
  VGPU_EXPORT int name(int version, const char* file, struct type* status) noexcept { \
    Path path;                                                                        \
    return resolve(file, path)                                                        \
               ? as_node(path, original_##name(version, path.place, status), status)  \
               : original_##name(version, file, status);                              \
  }
#define VGPU_XSTATAT(name, type)                                                               \
  VGPU_EXPORT int name(int version, int directory, const char* file, struct type* status,      \
                       int flags) noexcept {                                                   \
    Path path;                                                                                 \
    return resolve(file, path)                                                                 \
               ? as_node(path, original_##name(version, directory, path.place, status, flags), \
                         status)                                                               \
               : original_##name(version, directory, file, status, flags);                     \
  }

VGPU_STAT(stat, stat)
VGPU_STAT(stat64, stat64)
VGPU_STAT(lstat, stat)
VGPU_STAT(lstat64, stat64)
VGPU_STATAT(fstatat, stat)
VGPU_STATAT(fstatat64, stat64)
VGPU_XSTAT(__xstat, stat)
VGPU_XSTAT(__xstat64, stat64)
VGPU_XSTAT(__lxstat, stat)
VGPU_XSTAT(__lxstat64, stat64)
VGPU_XSTATAT(__fxstatat, stat)
VGPU_XSTATAT(__fxstatat64, stat64)

VGPU_EXPORT int statx(int directory, const char* file, int flags, unsigned mask,
                      struct statx* status) noexcept {
  Path path;
  if (!resolve(file, path)) {
    return original_statx(directory, file, flags, mask, status);
  }
  const int result = original_statx(directory, path.place, flags, mask, status);
  if (result == 0 && is_node(path)) {
    status->stx_mode = kNodeMode;
    status->stx_rdev_major = major(node_number(path));
    status->stx_rdev_minor = minor(node_number(path));
    status->stx_size = 0;
  }
  return result;
}

VGPU_EXPORT int access(const char* file, int mode) noexcept {
  Path path;
  return original_access(resolve(file, path) ? path.place : file, mode);
}

VGPU_EXPORT int eaccess(const char* file, int mode) noexcept {
  Path path;
  return original_eaccess(resolve(file, path) ? path.place : file, mode);
}

VGPU_EXPORT int euidaccess(const char* file, int mode) noexcept {
  Path path;
  return original_euidaccess(resolve(file, path) ? path.place : file, mode);
}

VGPU_EXPORT int faccessat(int directory, const char* file, int mode, int flags) noexcept {
  Path path;
  return original_faccessat(directory, resolve(file, path) ? path.place : file, mode, flags);
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
  return original_readlink(resolve(file, path) ? path.place : file, buffer, size);
}

VGPU_EXPORT ssize_t readlinkat(int directory, const char* file, char* buffer,
                               size_t size) noexcept {
  Path path;
  return original_readlinkat(directory, resolve(file, path) ? path.place : file, buffer, size);
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

VGPU_EXPORT int inotify_add_watch(int fd, const char* file, uint32_t mask) noexcept {
  Path path;
  return original_inotify_add_watch(fd, resolve(file, path) ? path.place : file, mask);
}

// rocminfo 5.2 asks lsmod whether the driver is loaded. A machine without modules has no answer.
VGPU_EXPORT FILE* popen(const char* command, const char* mode) {
  Path path;
  const bool asks = command != nullptr && strstr(command, "lsmod") != nullptr &&
                    strstr(command, "amdgpu") != nullptr && resolve("/sys/module/amdgpu", path);
  return original_popen(asks ? "echo 'amdgpu 16777216 0 - Live'" : command, mode);
}
