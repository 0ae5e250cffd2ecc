// stat and its kin, old and new.
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/kfd_file.h"
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

// In the tree the device nodes are plain files: show them as what they stand for. The directories
// of queues show their place in the order of creation as inode number, which on a real sysfs it
// follows; the driver keeps it in the modification time (SysfsTree::add_queue).
template <class Stat>
int as_node(const Path& path, int result, Stat* status) {
  if (result == 0 && S_ISDIR(status->st_mode) && strstr(path.name, "/queues/") != nullptr) {
    status->st_ino = static_cast<ino_t>(status->st_mtim.tv_sec) * 1'000'000'000 +
                     static_cast<ino_t>(status->st_mtim.tv_nsec);
  }
  if (result == 0 && is_node(path)) {
    status->st_mode = kNodeMode;
    status->st_rdev = node_number(path);
    status->st_size = 0;
  }
  return result;
}

// A file that somebody has open, by its place in /proc: readlink() calls it by the device's name
// (names.cpp), so it is that device here, too.
template <class Stat>
int as_open_device(const char* file, int result, Stat* status) {
  constexpr char kKfd[] = "/dev/kfd";
  char name[sizeof kKfd];
  if (result == 0 && S_ISREG(status->st_mode) && status->st_nlink == 0 &&
      device_file_name(file, name, sizeof name) == sizeof kKfd - 1 &&
      memcmp(name, kKfd, sizeof kKfd - 1) == 0) {
    status->st_mode = kNodeMode;
    status->st_rdev = makedev(kKfdMajor, 0);
    status->st_size = 0;
  }
  return result;
}

// A DRM node stays one when it is open: libdrm asks for its number. By the system call, which all
// these functions are on x86-64: a libc before 2.33 has some of them, a later one others.
template <class Stat>
int stat_open_file(int fd, Stat* status) {
  const int result = static_cast<int>(syscall(SYS_fstat, fd, status));
  if (result == 0 && is_memory_file(status->st_dev, status->st_ino)) {
    status->st_mode = kNodeMode;
    status->st_rdev = makedev(kDrmMajor, drm_minor(fd));
    status->st_size = 0;
  }
  return result;
}
static_assert(sizeof(struct stat) == sizeof(struct stat64));

// Before glibc 2.33 stat() was made of __xstat() by the header. We call it ourselves, too.
template <class Stat>
int fstatat_call(int directory, const char* file, Stat* status, int flags) {
  return static_cast<int>(syscall(SYS_newfstatat, directory, file, status, flags));
}
template <class Stat>
int stat_call(const char* file, Stat* status) {
  return fstatat_call(AT_FDCWD, file, status, 0);
}
template <class Stat>
int lstat_call(const char* file, Stat* status) {
  return fstatat_call(AT_FDCWD, file, status, AT_SYMLINK_NOFOLLOW);
}

// clang-format off
VGPU_ORIGINAL_OR(stat,      &stat_call,    int(const char*, struct stat*));
VGPU_ORIGINAL_OR(stat64,    &stat_call,    int(const char*, struct stat64*));
VGPU_ORIGINAL_OR(lstat,     &lstat_call,   int(const char*, struct stat*));
VGPU_ORIGINAL_OR(lstat64,   &lstat_call,   int(const char*, struct stat64*));
VGPU_ORIGINAL_OR(fstatat,   &fstatat_call, int(int, const char*, struct stat*, int));
VGPU_ORIGINAL_OR(fstatat64, &fstatat_call, int(int, const char*, struct stat64*, int));
VGPU_ORIGINAL(statx,       int(int, const char*, int, unsigned, struct statx*));
VGPU_ORIGINAL(__xstat,     int(int, const char*, struct stat*));
VGPU_ORIGINAL(__xstat64,   int(int, const char*, struct stat64*));
VGPU_ORIGINAL(__lxstat,    int(int, const char*, struct stat*));
VGPU_ORIGINAL(__lxstat64,  int(int, const char*, struct stat64*));
VGPU_ORIGINAL(__fxstatat,  int(int, int, const char*, struct stat*, int));
VGPU_ORIGINAL(__fxstatat64, int(int, int, const char*, struct stat64*, int));
// clang-format on

}  // namespace

#define VGPU_STAT(name, type)                                                                 \
  VGPU_EXPORT int name(const char* file, struct type* status) noexcept {                      \
    Path path;                                                                                \
    return resolve(file, path) ? as_node(path, original_##name(path.place, status), status)   \
                               : as_open_device(file, original_##name(file, status), status); \
  }
#define VGPU_STATAT(name, type)                                                                    \
  VGPU_EXPORT int name(int directory, const char* file, struct type* status, int flags) noexcept { \
    Path path;                                                                                     \
    return resolve(file, path)                                                                     \
               ? as_node(path, original_##name(directory, path.place, status, flags), status)      \
               : as_open_device(file, original_##name(directory, file, status, flags), status);    \
  }
// What programs built before glibc 2.33 call.
#define VGPU_XSTAT(name, type)                                                         \
  VGPU_EXPORT int name(int version, const char* file, struct type* status) noexcept {  \
    Path path;                                                                         \
    return resolve(file, path)                                                         \
               ? as_node(path, original_##name(version, path.place, status), status)   \
               : as_open_device(file, original_##name(version, file, status), status); \
  }
#define VGPU_XSTATAT(name, type)                                                                \
  VGPU_EXPORT int name(int version, int directory, const char* file, struct type* status,       \
                       int flags) noexcept {                                                    \
    Path path;                                                                                  \
    return resolve(file, path)                                                                  \
               ? as_node(path, original_##name(version, directory, path.place, status, flags),  \
                         status)                                                                \
               : as_open_device(file, original_##name(version, directory, file, status, flags), \
                                status);                                                        \
  }

VGPU_EXPORT int fstat(int fd, struct stat* status) noexcept { return stat_open_file(fd, status); }
VGPU_EXPORT int fstat64(int fd, struct stat64* status) noexcept {
  return stat_open_file(fd, status);
}
#define VGPU_FXSTAT(name, type)                                     \
  VGPU_EXPORT int name(int, int fd, struct type* status) noexcept { \
    return stat_open_file(fd, status);                              \
  }
VGPU_FXSTAT(__fxstat, stat)
VGPU_FXSTAT(__fxstat64, stat64)
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
