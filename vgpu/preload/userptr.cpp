#include "preload/userptr.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/channel.h"
#include "preload/kfd_file.h"
#include "preload/maps.h"
#include "preload/page_mover.h"

namespace vgpu::preload {
namespace {

using gp::u64;

constexpr u64 kPage = 4096;
constexpr u64 kAddressSpace = u64{1} << 47;

struct Registration {
  u64 handle = 0;
  u64 start = 0, end = 0;  // start == end: slot free
};

// Everything below is under this lock. Taken before the channel's: calls are made with it held.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_once_t once = PTHREAD_ONCE_INIT;
Registration* registrations = nullptr;
size_t capacity = 0;
int file = -1;
u64 file_device = 0, file_inode = 0;

bool is_our_file(const Mapping& mapping) {
  return file_inode != 0 && mapping.inode == file_inode && mapping.device == file_device;
}

// The pages lie in the memfd where they belong. A program that moves registered memory with mremap
// leaves them elsewhere.
bool is_in_place(const Mapping& mapping) {
  return is_our_file(mapping) && mapping.offset == mapping.start;
}

// Calls `visit` for the part of each mapping that lies in [start, end), in order, until it returns
// non-zero. -EFAULT if a part of the range is not mapped.
template <class Visit>
int for_each_piece(u64 start, u64 end, Visit visit) {
  MapsReader maps;
  if (!maps.opened()) {
    return -EFAULT;
  }
  Mapping mapping;
  u64 position = start;
  while (position < end && maps.next(mapping)) {
    if (mapping.end <= position) {
      continue;
    }
    if (mapping.start > position) {
      return -EFAULT;
    }
    const PageRange piece = {position, mapping.end < end ? mapping.end : end, mapping.protection};
    if (const int result = visit(mapping, piece)) {
      return result;
    }
    position = piece.end;
  }
  return position < end ? -EFAULT : 0;
}

void explain_shared_mapping() {
  static bool explained = false;
  if (!explained) {
    explained = true;
    constexpr char kText[] =
        "vgpu: memory that is mapped from a shared file cannot be registered with the virtual "
        "GPU\n";
    if (write(STDERR_FILENO, kText, sizeof kText - 1) < 0) {
      // Standard error is closed: the error code remains.
    }
  }
}

int check_piece(const Mapping& mapping) {
  if (is_in_place(mapping)) {
    return 0;  // registered already, and private to this process
  }
  if (!(mapping.protection & PROT_READ) || is_memory_file(mapping.device, mapping.inode) ||
      is_our_file(mapping)) {
    return -EFAULT;
  }
  if (!(mapping.protection & PROT_WRITE)) {
    return -EPERM;
  }
  if (mapping.shared) {
    explain_shared_mapping();
    return -EFAULT;
  }
  return 0;
}

// Pages of the memfd that the program has moved elsewhere with mremap: their place is taken.
bool is_taken(u64 start, u64 end) {
  MapsReader maps;
  Mapping mapping;
  while (maps.next(mapping)) {
    if (is_our_file(mapping) && !is_in_place(mapping) && mapping.offset < end &&
        start < mapping.offset + (mapping.end - mapping.start)) {
      return true;
    }
  }
  return false;
}

void before_fork() { pthread_mutex_lock(&mutex); }
void after_fork_in_parent() { pthread_mutex_unlock(&mutex); }

// Registered memory is shared memory for now; a child must not write into its parent's. It gets
// copies, as after any fork.
void after_fork_in_child() {
  for (size_t i = 0; i < capacity; ++i) {
    const Registration& entry = registrations[i];
    if (entry.start == entry.end) {
      continue;
    }
    for_each_piece(entry.start, entry.end, [](const Mapping& mapping, const PageRange& piece) {
      if (is_in_place(mapping)) {
        copy_out_of_file(file, piece);
      }
      return 0;
    });
  }
  if (registrations != nullptr) {
    memset(static_cast<void*>(registrations), 0, capacity * sizeof(Registration));
  }
  if (file >= 0) {
    close(file);
  }
  file = -1;
  file_inode = 0;
  pthread_mutex_unlock(&mutex);
}

// After the channel's handlers: prepare handlers run in reverse order, so this lock comes first.
void initialize() { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

int open_file() {
  const int fd = memfd_create("vgpu-user-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) {
    return -errno;
  }
  // Sealed, so that the server can map it: nobody can make it shorter under its feet.
  struct stat status;
  if (ftruncate(fd, static_cast<off_t>(kAddressSpace)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      fstat(fd, &status) != 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  file = move_high(fd);
  file_device = status.st_dev;
  file_inode = status.st_ino;
  return 0;
}

Registration* free_slot() {
  for (size_t i = 0; i < capacity; ++i) {
    if (registrations[i].start == registrations[i].end) {
      return &registrations[i];
    }
  }
  const size_t larger = capacity == 0 ? kPage / sizeof(Registration) : 2 * capacity;
  void* memory = mmap(nullptr, larger * sizeof(Registration), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  if (registrations != nullptr) {
    memcpy(memory, registrations, capacity * sizeof(Registration));
    munmap(registrations, capacity * sizeof(Registration));
  }
  Registration* slot = static_cast<Registration*>(memory) + capacity;
  registrations = static_cast<Registration*>(memory);
  capacity = larger;
  return slot;
}

// The end of the part of [position, end) that starts at `position` and is either wholly covered by
// registrations or wholly free; `covered` says which.
u64 next_boundary(u64 position, u64 end, bool& covered) {
  u64 boundary = end;
  covered = false;
  for (size_t i = 0; i < capacity; ++i) {
    const Registration& other = registrations[i];
    if (other.start <= position && position < other.end) {
      covered = true;
      return other.end < end ? other.end : end;
    }
    if (position < other.start && other.start < boundary) {
      boundary = other.start;
    }
  }
  return boundary;
}

// Moves back the pages of [start, end) that still are where they were put. The program may have
// unmapped some and mapped other memory there.
void move_back(u64 start, u64 end) {
  u64 position = start;
  while (position < end) {
    // One piece at a time: each replacement changes the list of mappings.
    PageRange found;
    MapsReader maps;
    Mapping mapping;
    while (found.start == found.end && maps.next(mapping)) {
      const u64 low = mapping.start > position ? mapping.start : position;
      const u64 high = mapping.end < end ? mapping.end : end;
      if (low < high && is_in_place(mapping)) {
        found = {low, high, mapping.protection};
      }
    }
    if (found.start == found.end) {
      return;
    }
    move_out_of_file(file, found);  // on failure the pages stay shared, and usable
    position = found.end;
  }
}

void forget(Registration& entry) {
  const Registration gone = entry;
  entry = {};
  u64 position = gone.start;
  while (position < gone.end) {
    bool covered = false;
    const u64 boundary = next_boundary(position, gone.end, covered);
    if (!covered) {
      move_back(position, boundary);
    }
    position = boundary;
  }
}

}  // namespace

int check_user_memory(u64 address, u64 size) {
  if (address % kPage != 0 || size % kPage != 0 || size == 0 || address >= kAddressSpace ||
      size > kAddressSpace - address) {
    return -EINVAL;
  }
  pthread_mutex_lock(&mutex);
  int result =
      for_each_piece(address, address + size,
                     [](const Mapping& mapping, const PageRange&) { return check_piece(mapping); });
  if (result == 0 && is_taken(address, address + size)) {
    result = -EFAULT;
  }
  pthread_mutex_unlock(&mutex);
  return result;
}

int user_memory_file() {
  pthread_once(&once, initialize);
  pthread_mutex_lock(&mutex);
  const int result = file >= 0 ? 0 : open_file();
  const int fd = file;
  pthread_mutex_unlock(&mutex);
  return result < 0 ? result : fd;
}

int register_user_memory(u64 handle, u64 address, u64 size) {
  pthread_mutex_lock(&mutex);
  Registration* entry = free_slot();
  int result = entry != nullptr ? 0 : -ENOMEM;
  if (result == 0) {
    *entry = {handle, address, address + size};
    result =
        for_each_piece(address, address + size, [](const Mapping& mapping, const PageRange& piece) {
          return is_in_place(mapping) ? 0 : move_into_file(file, piece);
        });
    if (result < 0) {
      forget(*entry);
    }
  }
  pthread_mutex_unlock(&mutex);
  return result;
}

void unregister_user_memory(u64 handle) {
  pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < capacity; ++i) {
    if (registrations[i].start != registrations[i].end && registrations[i].handle == handle) {
      forget(registrations[i]);
      break;
    }
  }
  pthread_mutex_unlock(&mutex);
}

}  // namespace vgpu::preload
