#include "preload/maps.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace vgpu::preload {

MapsReader::MapsReader()
    : fd_(static_cast<int>(
          syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC))) {}

MapsReader::~MapsReader() {
  if (fd_ >= 0) {
    syscall(SYS_close, fd_);
  }
}

// The start of the next line; file names at its end may be cut off.
bool MapsReader::read_line(char* line, int capacity) {
  int length = 0;
  for (;;) {
    if (used_ == filled_) {
      const long got = syscall(SYS_read, fd_, buffer_, sizeof buffer_);
      if (got <= 0) {
        return false;
      }
      used_ = 0;
      filled_ = static_cast<int>(got);
    }
    const char next = buffer_[used_++];
    if (next == '\n') {
      line[length] = '\0';
      return true;
    }
    if (length < capacity - 1) {
      line[length++] = next;
    }
  }
}

bool MapsReader::next(Mapping& mapping) {
  char line[160];
  unsigned long start, end, offset, inode;
  unsigned major_number, minor_number;
  char rights[5];
  if (fd_ < 0 || !read_line(line, sizeof line) ||
      sscanf(line, "%lx-%lx %4s %lx %x:%x %lu", &start, &end, rights, &offset, &major_number,
             &minor_number, &inode) != 7) {
    return false;
  }
  mapping.start = start;
  mapping.end = end;
  mapping.offset = offset;
  mapping.device = makedev(major_number, minor_number);
  mapping.inode = inode;
  mapping.protection = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
                       (rights[2] == 'x' ? PROT_EXEC : 0);
  mapping.shared = rights[3] == 's';
  return true;
}

}  // namespace vgpu::preload
