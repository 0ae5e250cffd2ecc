// The functions of libdrm_amdgpu that libhsakmt calls. They would ask the kernel's DRM driver; here
// they answer from the runtime directory. Signatures: amdgpu.h of libdrm.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/device.h"
#include "preload/drm_ioctl.h"
#include "preload/export.h"
#include "protocol/wire.h"

namespace {

using namespace vgpu;
using namespace vgpu::preload;

constexpr uint32_t kFamilyAi = 141;           // AMDGPU_FAMILY_AI: gfx9
constexpr uint32_t kExternalRevision = 0x3d;  // Aldebaran's; addrlib asserts that it knows it

// A handle is a descriptor of our own, kept as a small number that is never zero.
void* handle_of(int fd) { return reinterpret_cast<void*>(static_cast<intptr_t>(fd) + 1); }
int fd_of(void* handle) { return static_cast<int>(reinterpret_cast<intptr_t>(handle) - 1); }

// struct amdgpu_gpu_info begins so; callers use these fields alone.
struct GpuInfo {
  uint32_t asic_id, chip_rev, chip_external_rev, family_id;
};

char marketing_name[128];

VGPU_ORIGINAL(amdgpu_device_initialize, int(int, uint32_t*, uint32_t*, void**));
VGPU_ORIGINAL(amdgpu_device_deinitialize, int(void*));
VGPU_ORIGINAL(amdgpu_device_get_fd, int(void*));
VGPU_ORIGINAL(amdgpu_get_marketing_name, const char*(void*));
VGPU_ORIGINAL(amdgpu_query_gpu_info, int(void*, void*));

}  // namespace

VGPU_EXPORT int amdgpu_device_initialize(int fd, uint32_t* major, uint32_t* minor, void** handle) {
  if (device() == nullptr) {
    return original_amdgpu_device_initialize(fd, major, minor, handle);
  }
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    return -errno;
  }
  *major = kDrmVersionMajor;
  *minor = kDrmVersionMinor;
  *handle = handle_of(copy);
  return 0;
}

VGPU_EXPORT int amdgpu_device_deinitialize(void* handle) {
  if (device() == nullptr) {
    return original_amdgpu_device_deinitialize(handle);
  }
  close(fd_of(handle));
  return 0;
}

// The caller closes what it gets (libhsakmt 6.x closes the descriptor it passed in, too).
VGPU_EXPORT int amdgpu_device_get_fd(void* handle) {
  return device() == nullptr ? original_amdgpu_device_get_fd(handle)
                             : fcntl(fd_of(handle), F_DUPFD_CLOEXEC, 0);
}

VGPU_EXPORT const char* amdgpu_get_marketing_name(void* handle) {
  const Device* here = device();
  if (here == nullptr) {
    return original_amdgpu_get_marketing_name(handle);
  }
  char file[kMaxDirectory + 32];
  snprintf(file, sizeof file, "%s/%s", here->directory, wire::kMarketingName);
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC));
  if (fd >= 0) {
    const ssize_t length = read(fd, marketing_name, sizeof marketing_name - 1);
    marketing_name[length > 0 ? length : 0] = '\0';
    close(fd);
  }
  return marketing_name;
}

VGPU_EXPORT int amdgpu_query_gpu_info(void* handle, void* info) {
  if (device() == nullptr) {
    return original_amdgpu_query_gpu_info(handle, info);
  }
  auto* known = static_cast<GpuInfo*>(info);
  memset(known, 0, sizeof *known);
  known->family_id = kFamilyAi;
  known->chip_external_rev = kExternalRevision;
  return 0;
}
