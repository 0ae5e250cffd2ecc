#include "preload/drm_ioctl.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/kfd_file.h"

namespace vgpu::preload {
namespace {

// struct drm_version of the uapi of DRM.
struct DrmVersion {
  int major, minor, patch;
  size_t name_length;
  char* name;
  size_t date_length;
  char* date;
  size_t description_length;
  char* description;
};
static_assert(sizeof(DrmVersion) == 64);
constexpr gp::u32 kVersionNumber = 0;

// The program's pointers may be bad: copied as copy_from_user and copy_to_user do.
bool copy_in(void* to, const void* from, size_t size) {
  iovec local = {to, size}, remote = {const_cast<void*>(from), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}
bool copy_out(void* to, const void* from, size_t size) {
  iovec local = {const_cast<void*>(from), size}, remote = {to, size};
  return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

// drm_copy_field: as much as there is room for; the length says how much there is.
bool copy_field(char* buffer, size_t& length, const char* text) {
  const size_t all = strlen(text), room = length < all ? length : all;
  length = all;
  return room == 0 || buffer == nullptr || copy_out(buffer, text, room);
}

int get_version(void* arguments) {
  DrmVersion version;
  if (!copy_in(&version, arguments, sizeof version)) {
    return -EFAULT;
  }
  version.major = kDrmVersionMajor;
  version.minor = kDrmVersionMinor;
  version.patch = 0;
  const bool copied = copy_field(version.name, version.name_length, "amdgpu") &&
                      copy_field(version.date, version.date_length, "20150101") &&
                      copy_field(version.description, version.description_length, "AMD GPU") &&
                      copy_out(arguments, &version, sizeof version);
  return copied ? 0 : -EFAULT;
}

}  // namespace

bool is_drm_file(int fd) {
  struct stat status;
  const int saved = errno;
  const bool result = fstat(fd, &status) == 0 && is_memory_file(status.st_dev, status.st_ino);
  errno = saved;
  return result;
}

int drm_ioctl(gp::u32 command, void* arguments) {
  const bool asks_version =
      _IOC_NR(command) == kVersionNumber && _IOC_SIZE(command) == sizeof(DrmVersion);
  return asks_version ? get_version(arguments) : -EINVAL;
}

}  // namespace vgpu::preload
