/* Preloaded into gpreemptd, its keeper and programs with an agent: one call of libc fails, as the
 * test says (fault_control.h). The call is not made then, but for close(), which closes. Each call
 * has the ways to fail that the kernel has for it, the most telling first. */
#define _GNU_SOURCE
#include "fault_control.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);

enum { kShort = -1, kLate = -2, kJump = -3 }; /* beside errno: ways to fail without an error */

static struct FaultControl* control;
static enum FaultRole role;
/* In what is called by libc or the virtual GPU on behalf of a call that was let through. */
static __thread int depth __attribute__((tls_model("initial-exec")));
static uintptr_t agent_from, agent_to;

static int is_agent(struct dl_phdr_info* object, size_t size, void* unused) {
  (void)size, (void)unused;
  if (strstr(object->dlpi_name, "libgpreempt_agent") == NULL) {
    return 0;
  }
  uintptr_t end = object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    const uintptr_t part_end = object->dlpi_addr + part->p_vaddr + part->p_memsz;
    end = part->p_type == PT_LOAD && part_end > end ? part_end : end;
  }
  agent_to = end;
  __atomic_store_n(&agent_from, object->dlpi_addr, __ATOMIC_RELEASE);
  return 1;
}

static int is_by_agent(const void* caller) {
  if (__atomic_load_n(&agent_from, __ATOMIC_ACQUIRE) == 0) {
    depth++;
    dl_iterate_phdr(is_agent, NULL);
    depth--;
  }
  const uintptr_t place = (uintptr_t)caller, from = __atomic_load_n(&agent_from, __ATOMIC_ACQUIRE);
  return from != 0 && place >= from && place < agent_to;
}

__attribute__((constructor)) static void prepare(void) {
  const char* path = getenv("GPREEMPT_FAULTS");
  const long fd = path == NULL ? -1 : syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) {
    return;
  }
  const long memory =
      syscall(SYS_mmap, NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
  syscall(SYS_close, fd);
  const char* name = getenv("GPREEMPT_FAULTS_ROLE");
  if (strcmp(program_invocation_short_name, "gpreemptd") == 0) {
    role = fault_role_guardian; /* the daemon is its child */
  } else if (strcmp(program_invocation_short_name, "gpreempt-keeper") == 0) {
    role = fault_role_keeper;
  } else if (name != NULL) {
    role = strcmp(name, "offline") == 0 ? fault_role_offline : fault_role_online;
  }
  if (memory > 0) {
    control = (struct FaultControl*)memory;
  }
}

static const char* name_of_way(int fault) {
  switch (fault) {
    case kShort: return "short";
    case kLate: return "late";
    case kJump: return "a day later";
    default: return strerrorname_np(fault);
  }
}

/* 0: the call is made. `faults` ends with 0. */
static int next_fault(const char* call, enum FaultKind kind, const int* faults,
                      const void* caller) {
  struct FaultControl* const all = control;
  if (all == NULL || depth > 0 || role == fault_role_none ||
      __atomic_load_n(&all->counting, __ATOMIC_ACQUIRE) == 0) {
    return 0;
  }
  if (all->only[0] != '\0' && strcmp(all->only, call) != 0) {
    return 0;
  }
  if ((role == fault_role_offline || role == fault_role_online) && !is_by_agent(caller)) {
    return 0;
  }
  int chosen = 0;
  for (uint32_t way = 0; way < fault_most_ways && faults[way] != 0; way++) {
    const uint64_t n = __atomic_add_fetch(&all->counts[role][kind][way], 1, __ATOMIC_RELAXED);
    if (all->role == role && all->kind == kind && all->way == way && all->nth == n) {
      chosen = faults[way];
    }
  }
  if (chosen != 0) {
    depth++;
    snprintf(all->what, sizeof all->what, "%s: %s", call, name_of_way(chosen));
    depth--;
    __atomic_store_n(&all->fired, 1, __ATOMIC_RELEASE);
  }
  return chosen;
}

/* Longer than any lease of the test: a machine that was put to sleep. */
static void stand_still(void) {
  const struct timespec span = {1, 0};
  syscall(SYS_nanosleep, &span, NULL);
}

#define NEXT(name)                                     \
  static __typeof__(&name) next;                       \
  depth++;                                             \
  if (next == NULL) {                                  \
    next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
  }

/* Only a call for which `condition` holds can fail. */
#define FAULT_IF(condition, name, ...)                                                          \
  static const int faults[] = {__VA_ARGS__, 0};                                                 \
  const int fault =                                                                             \
      (condition) ? next_fault(name, fault_kind_call, faults, __builtin_return_address(0)) : 0; \
  if (fault == kLate) {                                                                         \
    stand_still();                                                                              \
  }
#define FAULT(name, ...) FAULT_IF(1, name, __VA_ARGS__)

/* One that fails by what it returns and errno. */
#define CALL(type, name, parameters, arguments, failure, ...) \
  type name parameters {                                      \
    FAULT(#name, __VA_ARGS__)                                 \
    if (fault > 0) {                                          \
      errno = fault;                                          \
      return failure;                                         \
    }                                                         \
    NEXT(name)                                                \
    type result = next arguments;                             \
    depth--;                                                  \
    return result;                                            \
  }

/* One that returns the error. */
#define CALL_RETURNS_ERROR(name, parameters, arguments, ...) \
  int name parameters {                                      \
    FAULT(#name, __VA_ARGS__)                                \
    if (fault > 0) {                                         \
      return fault;                                          \
    }                                                        \
    NEXT(name)                                               \
    const int result = next arguments;                       \
    depth--;                                                 \
    return result;                                           \
  }

/* One that may do half of what it was asked for. */
#define TRANSFER(name, parameters, arguments, ...) \
  ssize_t name parameters {                        \
    FAULT(#name, __VA_ARGS__)                      \
    if (fault > 0) {                               \
      errno = fault;                               \
      return -1;                                   \
    }                                              \
    if (fault == kShort && size > 1) {             \
      size /= 2;                                   \
    }                                              \
    NEXT(name)                                     \
    const ssize_t result = next arguments;         \
    depth--;                                       \
    return result;                                 \
  }

/* ---- new descriptors ---- */
CALL(int, accept4, (int fd, struct sockaddr* address, socklen_t* size, int flags),
     (fd, address, size, flags), -1, EMFILE, ENOMEM, EINTR, ECONNABORTED)
CALL(int, dup2, (int from, int to), (from, to), -1, EINTR)
CALL(int, dup3, (int from, int to, int flags), (from, to, flags), -1, EINTR)
CALL(int, epoll_create1, (int flags), (flags), -1, EMFILE, ENOMEM)
CALL(int, eventfd, (unsigned value, int flags), (value, flags), -1, EMFILE, ENOMEM)
CALL(int, inotify_init1, (int flags), (flags), -1, EMFILE, ENOMEM)
CALL(int, memfd_create, (const char* name, unsigned flags), (name, flags), -1, EMFILE, ENOMEM)
CALL(int, pipe2, (int ends[2], int flags), (ends, flags), -1, EMFILE, ENFILE)
CALL(int, signalfd, (int fd, const sigset_t* set, int flags), (fd, set, flags), -1, EMFILE, ENOMEM)
CALL(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, EMFILE,
     ENOMEM)
CALL(int, socketpair, (int domain, int type, int protocol, int ends[2]),
     (domain, type, protocol, ends), -1, EMFILE, ENOMEM)
CALL(int, timerfd_create, (clockid_t clock, int flags), (clock, flags), -1, EMFILE, ENOMEM)
CALL(DIR*, opendir, (const char* path), (path), NULL, EMFILE, ENOMEM, EIO)

int open(const char* path, int flags, ...) {
  FAULT("open", EMFILE, EIO, EINTR)
  if (fault > 0) {
    errno = fault;
    return -1;
  }
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  NEXT(open)
  const int result = next(path, flags, mode);
  depth--;
  return result;
}

int fcntl(int fd, int command, ...) {
  FAULT_IF(command == F_DUPFD_CLOEXEC || command == F_DUPFD, "fcntl", EMFILE)
  if (fault > 0) {
    errno = fault;
    return -1;
  }
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  NEXT(fcntl)
  const int result = next(fd, command, argument);
  depth--;
  return result;
}

/* ---- reading, writing, waiting ---- */
TRANSFER(read, (int fd, void* data, size_t size), (fd, data, size), EINTR, kShort, EIO)
TRANSFER(write, (int fd, const void* data, size_t size), (fd, data, size), EINTR, ENOSPC, kShort,
         EIO)
TRANSFER(pwrite, (int fd, const void* data, size_t size, off_t at), (fd, data, size, at), EINTR,
         ENOSPC, kShort, EIO)
CALL(ssize_t, recv, (int fd, void* data, size_t size, int flags), (fd, data, size, flags), -1,
     EINTR, ENOMEM, kLate)
CALL(ssize_t, recvmsg, (int fd, struct msghdr* message, int flags), (fd, message, flags), -1, EINTR,
     ENOMEM, kLate)
CALL(ssize_t, send, (int fd, const void* data, size_t size, int flags), (fd, data, size, flags), -1,
     EINTR, ENOMEM, EAGAIN, kLate)
CALL(ssize_t, sendmsg, (int fd, const struct msghdr* message, int flags), (fd, message, flags), -1,
     EINTR, ENOMEM, EAGAIN, kLate)
CALL(int, poll, (struct pollfd * fds, nfds_t count, int patience), (fds, count, patience), -1,
     EINTR, ENOMEM, kLate)
CALL(int, epoll_wait, (int fd, struct epoll_event* events, int count, int patience),
     (fd, events, count, patience), -1, EINTR, kLate)
CALL(int, nanosleep, (const struct timespec* span, struct timespec* left), (span, left), -1, EINTR)
CALL(pid_t, waitpid, (pid_t pid, int* status, int options), (pid, status, options), -1, EINTR)
CALL(int, waitid, (idtype_t type, id_t id, siginfo_t* info, int options), (type, id, info, options),
     -1, EINTR)
CALL(int, connect, (int fd, const struct sockaddr* address, socklen_t size), (fd, address, size),
     -1, EINTR, EAGAIN, ENOMEM)
CALL(int, bind, (int fd, const struct sockaddr* address, socklen_t size), (fd, address, size), -1,
     ENOSPC, ENOMEM, EIO)
CALL(int, inotify_add_watch, (int fd, const char* path, uint32_t events), (fd, path, events), -1,
     ENOSPC, ENOMEM)

/* Of the options that are asked for one is a new descriptor, and the others cannot fail. */
int getsockopt(int fd, int level, int name, void* value, socklen_t* size) {
  enum { kPeerPidfd = 77 }; /* SO_PEERPIDFD */
  FAULT_IF(name == kPeerPidfd, "getsockopt", EMFILE, ENOMEM)
  if (fault > 0) {
    errno = fault;
    return -1;
  }
  NEXT(getsockopt)
  const int result = next(fd, level, name, value, size);
  depth--;
  return result;
}

/* To change or remove an entry does not fail. */
int epoll_ctl(int fd, int operation, int other, struct epoll_event* event) {
  FAULT_IF(operation == EPOLL_CTL_ADD, "epoll_ctl", ENOMEM, ENOSPC)
  if (fault > 0) {
    errno = fault;
    return -1;
  }
  NEXT(epoll_ctl)
  const int result = next(fd, operation, other, event);
  depth--;
  return result;
}

int close(int fd) {
  FAULT("close", EINTR, EIO)
  NEXT(close)
  const int result = next(fd);
  depth--;
  if (fault > 0) {
    errno = fault;
    return -1;
  }
  return result;
}

/* ---- the driver ---- */
int ioctl(int fd, unsigned long request, ...) {
  FAULT("ioctl", EINTR, ENOMEM, EIO, kLate)
  if (fault > 0) {
    errno = fault;
    return -1;
  }
  va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  NEXT(ioctl)
  const int result = next(fd, request, argument);
  depth--;
  return result;
}

/* ---- files ---- */
CALL(int, chmod, (const char* path, mode_t mode), (path, mode), -1, EIO, ENOSPC)
CALL(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, EIO, ENOSPC)
CALL(int, flock, (int fd, int operation), (fd, operation), -1, EINTR, ENOLCK)
CALL(int, fstat, (int fd, struct stat* status), (fd, status), -1, EIO, ENOMEM)
CALL(int, stat, (const char* path, struct stat* status), (path, status), -1, EIO, ENOMEM)
CALL(int, ftruncate, (int fd, off_t size), (fd, size), -1, EINTR, ENOSPC, EIO)
CALL(ssize_t, readlink, (const char* path, char* text, size_t size), (path, text, size), -1, EIO,
     ENOMEM)
CALL(struct dirent*, readdir, (DIR * directory), (directory), NULL, EIO)
CALL(int, rename, (const char* from, const char* to), (from, to), -1, ENOSPC, EIO)
CALL(int, unlink, (const char* path), (path), -1, EIO, ENOSPC)
CALL_RETURNS_ERROR(posix_fallocate, (int fd, off_t from, off_t size), (fd, from, size), ENOSPC,
                   EINTR, EIO)

/* ---- memory, processes, threads ---- */
CALL(void*, mmap, (void* at, size_t size, int protection, int flags, int fd, off_t offset),
     (at, size, protection, flags, fd, offset), MAP_FAILED, ENOMEM, EAGAIN)
CALL(int, munmap, (void* at, size_t size), (at, size), -1, ENOMEM)
CALL_RETURNS_ERROR(pthread_create,
                   (pthread_t * thread, const pthread_attr_t* attributes, void* (*main)(void*),
                    void* argument),
                   (thread, attributes, main, argument), EAGAIN)
CALL_RETURNS_ERROR(posix_spawn,
                   (pid_t * pid, const char* path, const posix_spawn_file_actions_t* actions,
                    const posix_spawnattr_t* attributes, char* const* arguments,
                    char* const* words),
                   (pid, path, actions, attributes, arguments, words), EAGAIN, ENOMEM)

pid_t fork(void) {
  FAULT("fork", EAGAIN, ENOMEM)
  if (fault > 0) {
    errno = fault;
    return -1;
  }
  NEXT(fork)
  const pid_t child = next();
  depth--;
  if (child == 0) {
    role = role == fault_role_guardian ? fault_role_daemon
           : role == fault_role_keeper ? role /* it leaves its first process */
                                       : fault_role_none;
  }
  return child;
}

/* Only those by which a descriptor is made fail. */
long syscall(long number, ...) {
  long words[6];
  va_list more;
  va_start(more, number);
  for (int i = 0; i < 6; i++) {
    words[i] = va_arg(more, long);
  }
  va_end(more);
  FAULT_IF(number == SYS_pidfd_open || number == SYS_pidfd_getfd, "pidfd_open or pidfd_getfd",
           EMFILE, ENOMEM)
  if (fault > 0) {
    errno = fault;
    return -1;
  }
  NEXT(syscall)
  depth--; /* a call that waits must not hide others */
  return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* ---- the wall clock ---- */
int clock_gettime(clockid_t clock, struct timespec* now) {
  static time_t jumped;
  FAULT_IF(clock == CLOCK_REALTIME, "clock_gettime", kJump)
  if (fault == kJump) {
    jumped = 24 * 3600;
  }
  NEXT(clock_gettime)
  const int result = next(clock, now);
  depth--;
  now->tv_sec += clock == CLOCK_REALTIME ? jumped : 0;
  return result;
}

/* ---- allocations ---- */
static int is_out_of_memory(const char* call, const void* caller) {
  static const int faults[] = {ENOMEM, 0};
  if (next_fault(call, fault_kind_allocation, faults, caller) == 0) {
    return 0;
  }
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) {
  return is_out_of_memory("malloc", __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return is_out_of_memory("calloc", __builtin_return_address(0)) ? NULL
                                                                 : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  return is_out_of_memory("realloc", __builtin_return_address(0)) ? NULL
                                                                  : __libc_realloc(memory, size);
}
