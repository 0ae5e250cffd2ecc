// open, fopen, opendir and their kin. libc's fopen and opendir do not go through the replaced
// open(), so each is replaced by itself.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/channel.h"
#include "preload/export.h"
#include "preload/kfd_file.h"
#include "preload/paths.h"

namespace {

using namespace vgpu;
using namespace vgpu::preload;

VGPU_ORIGINAL(open, int(const char*, int, ...));
VGPU_ORIGINAL(open64, int(const char*, int, ...));
VGPU_ORIGINAL(openat, int(int, const char*, int, ...));
VGPU_ORIGINAL(openat64, int(int, const char*, int, ...));
VGPU_ORIGINAL(__open_2, int(const char*, int));
VGPU_ORIGINAL(__open64_2, int(const char*, int));
VGPU_ORIGINAL(__openat_2, int(int, const char*, int));
VGPU_ORIGINAL(__openat64_2, int(int, const char*, int));
VGPU_ORIGINAL(fopen, FILE*(const char*, const char*));
VGPU_ORIGINAL(fopen64, FILE*(const char*, const char*));
VGPU_ORIGINAL(opendir, DIR*(const char*));
VGPU_ORIGINAL(scandir, int(const char*, dirent***, int (*)(const dirent*),
                           int (*)(const dirent**, const dirent**)));
VGPU_ORIGINAL(scandir64, int(const char*, dirent64***, int (*)(const dirent64*),
                             int (*)(const dirent64**, const dirent64**)));

// No file of the tree is empty but those whose text the driver makes.
bool is_made_by_driver(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_size == 0;
}

int open_generated(const Path& path, int flags) {
  Message message;
  message.kind = (flags & O_ACCMODE) == O_RDONLY ? wire::kind_open_file : wire::kind_open_writer;
  message.data = path.name;
  message.size = static_cast<gp::u32>(strlen(path.name));
  return open_by_call(message, flags);
}

int open_in_tree(const Path& path, int flags, mode_t mode) {
  struct stat status;
  const int saved = errno;
  if (stat(path.place, &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      note_open_directory();
    } else if (path.kind == PathKind::tree && is_made_by_driver(status) && !(flags & O_PATH)) {
      return open_generated(path, flags);
    }
  }
  errno = saved;
  // Nobody creates files in /dev or /sys: the driver does, through the server.
  return original_open(path.place, flags & ~(O_CREAT | O_TRUNC), mode);
}

int open_path(const Path& path, int flags, mode_t mode) {
  switch (path.kind) {
    case PathKind::kfd: return flags & O_PATH ? open_in_tree(path, flags, mode) : open_kfd(flags);
    case PathKind::render:
      return flags & O_PATH ? open_in_tree(path, flags, mode) : open_render(path.minor, flags);
    default: return open_in_tree(path, flags, mode);
  }
}

int flags_of_mode(const char* mode) {
  int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  if (strchr(mode, '+') != nullptr) {
    flags = O_RDWR;
  }
  return strchr(mode, 'e') != nullptr ? flags | O_CLOEXEC : flags;
}

FILE* fopen_path(const Path& path, const char* mode) {
  const int fd = open_path(path, flags_of_mode(mode), 0);
  if (fd < 0) {
    return nullptr;
  }
  FILE* file = fdopen(fd, mode);
  if (file == nullptr) {
    const int saved = errno;
    close(fd);
    errno = saved;
  }
  return file;
}

// The optional mode argument of open, present with O_CREAT and O_TMPFILE.
mode_t mode_argument(int flags, va_list arguments) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

#define VGPU_OPEN(name)                                                           \
  VGPU_EXPORT int name(const char* file, int flags, ...) {                        \
    va_list arguments;                                                            \
    va_start(arguments, flags);                                                   \
    const mode_t mode = mode_argument(flags, arguments);                          \
    va_end(arguments);                                                            \
    Path path;                                                                    \
    return resolve_at(AT_FDCWD, file, path) ? open_path(path, flags, mode)        \
                                            : original_##name(file, flags, mode); \
  }
#define VGPU_OPENAT(name)                                                                     \
  VGPU_EXPORT int name(int directory, const char* file, int flags, ...) {                     \
    va_list arguments;                                                                        \
    va_start(arguments, flags);                                                               \
    const mode_t mode = mode_argument(flags, arguments);                                      \
    va_end(arguments);                                                                        \
    Path path;                                                                                \
    return resolve_at(directory, file, path) ? open_path(path, flags, mode)                   \
                                             : original_##name(directory, file, flags, mode); \
  }

VGPU_OPEN(open)
VGPU_OPEN(open64)
VGPU_OPENAT(openat)
VGPU_OPENAT(openat64)

VGPU_EXPORT int __open_2(const char* file, int flags) {
  Path path;
  return resolve_at(AT_FDCWD, file, path) ? open_path(path, flags, 0)
                                          : original___open_2(file, flags);
}

VGPU_EXPORT int __open64_2(const char* file, int flags) {
  Path path;
  return resolve_at(AT_FDCWD, file, path) ? open_path(path, flags, 0)
                                          : original___open64_2(file, flags);
}

VGPU_EXPORT int __openat_2(int directory, const char* file, int flags) {
  Path path;
  return resolve_at(directory, file, path) ? open_path(path, flags, 0)
                                           : original___openat_2(directory, file, flags);
}

VGPU_EXPORT int __openat64_2(int directory, const char* file, int flags) {
  Path path;
  return resolve_at(directory, file, path) ? open_path(path, flags, 0)
                                           : original___openat64_2(directory, file, flags);
}

VGPU_EXPORT FILE* fopen(const char* file, const char* mode) {
  Path path;
  return resolve_at(AT_FDCWD, file, path) ? fopen_path(path, mode) : original_fopen(file, mode);
}

VGPU_EXPORT FILE* fopen64(const char* file, const char* mode) {
  Path path;
  return resolve_at(AT_FDCWD, file, path) ? fopen_path(path, mode) : original_fopen64(file, mode);
}

VGPU_EXPORT DIR* opendir(const char* name) {
  Path path;
  if (!resolve_at(AT_FDCWD, name, path)) {
    return original_opendir(name);
  }
  note_open_directory();
  return original_opendir(path.place);
}

VGPU_EXPORT int scandir(const char* name, dirent*** entries, int (*filter)(const dirent*),
                        int (*compare)(const dirent**, const dirent**)) {
  Path path;
  return original_scandir(resolve_at(AT_FDCWD, name, path) ? path.place : name, entries, filter,
                          compare);
}

VGPU_EXPORT int scandir64(const char* name, dirent64*** entries, int (*filter)(const dirent64*),
                          int (*compare)(const dirent64**, const dirent64**)) {
  Path path;
  return original_scandir64(resolve_at(AT_FDCWD, name, path) ? path.place : name, entries, filter,
                            compare);
}
