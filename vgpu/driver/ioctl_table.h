// Dispatch of ioctls on the kfd file, as kfd_ioctl() does it (kfd_chardev.c:3268-3392).
#pragma once

#include <span>

#include "driver/module.h"
#include "protocol/ioctl_files.h"

namespace vgpu::driver {

int dispatch_ioctl(Module& module, Caller& caller, FileId file, u32 command, std::span<u8> args);

// One row of the table, for traces and completeness tests. Names and numbers are unique, also those
// of rows that a device has only if it was started with them.
struct IoctlInfo {
  u32 nr;
  const char* name;
  u32 size;
  u32 since_minor;  // interface 1.x that has it
  bool dkms_only;
  protocol::IoctlFile file;  // which of Caller::passed_fd and reply_fd it uses
};
std::span<const IoctlInfo> ioctl_infos();

}  // namespace vgpu::driver
