// Preloaded into a program: the daemon's page cannot be mapped, as under a limit of its memory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is_page(int fd) {
  char name[64], target[64] = {0};
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  return fd >= 0 && readlink(name, target, sizeof target - 1) > 0 &&
         strncmp(target, "/memfd:gpreempt-page", 20) == 0;
}

void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  static void* (*next)(void*, size_t, int, int, int, off_t);
  if (next == NULL) {
    next = (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  }
  if (is_page(fd)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return next(address, length, protection, flags, fd, offset);
}
