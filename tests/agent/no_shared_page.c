// Preloaded into a program: the agent's page cannot be made, as under a seccomp filter that does not
// know memfd_create.
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int memfd_create(const char* name, unsigned int flags) {
  if (strcmp(name, "gpreempt-page") == 0) {
    errno = ENOSYS;
    return -1;
  }
  return (int)syscall(SYS_memfd_create, name, flags);
}
