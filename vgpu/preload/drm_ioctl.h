// ioctl on a DRM node: the little that libdrm and amd-smi ask before they look into sysfs.
#pragma once

#include "libc/types.h"

namespace vgpu::preload {

constexpr gp::u32 kDrmIoctlBase = 'd';
constexpr gp::u32 kDrmVersionMajor = 3, kDrmVersionMinor = 49;

// True if the descriptor is an open DRM node.
bool is_drm_file(int fd);

// What the kernel would return: 0 or -errno; -EINVAL for what is not there.
int drm_ioctl(gp::u32 command, void* arguments);

}  // namespace vgpu::preload
