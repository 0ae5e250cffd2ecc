// stat and its kin, old and new.
#include <sys/stat.h>
#include <sys/sysmacros.h>

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

// In the tree the device nodes are plain files: show them as what they stand for. Directories show
// their place in the order of creation as inode number, which on a real sysfs it follows; the
// driver keeps it in the modification time (SysfsTree::add_queue).
template <class Stat>
int as_node(const Path& path, int result, Stat* status) {
  if (result == 0 && path.kind == PathKind::tree && S_ISDIR(status->st_mode)) {
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
