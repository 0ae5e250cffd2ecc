#include "stop/queue_ids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gp::stop {
namespace {

constexpr char kQueues[] = "/sys/class/kfd/kfd/proc/%d/queues";
constexpr ino_t kFirstPidNamespace = 0xeffffffc;  // PROC_PID_INIT_INO, linux/proc_ns.h

bool parse_number(const char* text, u64* value) {
  char* end = nullptr;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return errno == 0 && end != text && (*end == '\0' || *end == '\n');
}

// A file of a queue's directory: a decimal number, without a newline (kfd_process.c:412).
int read_number(pid_t sysfs_pid, u32 id, const char* file, u64* value) {
  char path[96], text[32];
  snprintf(path, sizeof path, "/sys/class/kfd/kfd/proc/%d/queues/%u/%s", sysfs_pid, id, file);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return -errno;
  }
  const ssize_t size = read(fd, text, sizeof text - 1);
  const int error = size < 0 ? -errno : 0;
  close(fd);
  if (error < 0) {
    return error;
  }
  text[size] = '\0';
  return parse_number(text, value) ? 0 : -EBADMSG;
}

bool contains(const QueueIds& ids, u32 id) {
  for (u32 i = 0; i < ids.count; i++) {
    if (ids.ids[i] == id) {
      return true;
    }
  }
  return false;
}

}  // namespace

pid_t own_sysfs_pid() {
  struct stat status;
  const bool first = stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == kFirstPidNamespace;
  return first ? getpid() : 0;
}

int list_queue_ids(pid_t sysfs_pid, QueueIds& ids) {
  char path[64];
  snprintf(path, sizeof path, kQueues, sysfs_pid);
  DIR* directory = opendir(path);
  if (directory == nullptr) {
    return -errno;
  }
  ids.count = 0;
  int error = 0;
  while (const dirent* entry = readdir(directory)) {
    u64 id = 0;
    if (entry->d_name[0] == '.') {
      continue;
    }
    if (!parse_number(entry->d_name, &id) || id >= kMostQueues || ids.count == kMostQueues) {
      error = -EBADMSG;
      break;
    }
    ids.ids[ids.count++] = static_cast<u32>(id);
  }
  closedir(directory);
  return error;
}

int find_new_queue(pid_t sysfs_pid, const QueueIds& before, u32 gpu_id, u32 ring_bytes, u32* id) {
  QueueIds now;
  if (const int error = list_queue_ids(sysfs_pid, now)) {
    return error;
  }
  u32 found = 0;
  for (u32 i = 0; i < now.count; i++) {
    if (contains(before, now.ids[i])) {
      continue;
    }
    u64 gpu = 0, size = 0;
    int error = read_number(sysfs_pid, now.ids[i], "gpuid", &gpu);
    error = error < 0 ? error : read_number(sysfs_pid, now.ids[i], "size", &size);
    if (error < 0) {
      return error;
    }
    if (gpu == gpu_id && size == ring_bytes) {
      *id = now.ids[i];
      found++;
    }
  }
  return found == 1 ? 0 : -ENOTUNIQ;
}

}  // namespace gp::stop
