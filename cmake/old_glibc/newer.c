/* What glibc has only since 2.29 or later and we or libstdc++ use, in terms of what it had before.
 * Linked into what is released (cmake/portable.cmake), seen by nobody outside of it. */
#define _GNU_SOURCE
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* 2.32; libstdc++ uses plain instead of atomic counters while it is true. It never has to be. */
char __libc_single_threaded = 0;

/* 2.33. Before, the headers made of stat(): __xstat() with the version of the structure. */
enum { kStatVersion = 1 };
int __xstat(int version, const char* path, struct stat* result)
    __attribute__((visibility("default")));
int __lxstat(int version, const char* path, struct stat* result)
    __attribute__((visibility("default")));
int __fxstat(int version, int fd, struct stat* result) __attribute__((visibility("default")));
int __fxstat64(int version, int fd, struct stat64* result) __attribute__((visibility("default")));
int __fxstatat(int version, int folder, const char* path, struct stat* result, int flags)
    __attribute__((visibility("default")));

int stat(const char* path, struct stat* result) { return __xstat(kStatVersion, path, result); }
int lstat(const char* path, struct stat* result) { return __lxstat(kStatVersion, path, result); }
int fstat(int fd, struct stat* result) { return __fxstat(kStatVersion, fd, result); }
int fstat64(int fd, struct stat64* result) { return __fxstat64(kStatVersion, fd, result); }
int fstatat(int folder, const char* path, struct stat* result, int flags) {
  return __fxstatat(kStatVersion, folder, path, result, flags);
}

/* 2.36; libstdc++ has it for std::random_device. */
unsigned arc4random(void) {
  unsigned number = 0;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
  }
  return number;
}

pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); } /* 2.30 */

#pragma GCC visibility pop
