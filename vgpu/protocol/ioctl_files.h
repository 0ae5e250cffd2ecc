// The ioctls that carry an open file besides their arguments. A descriptor is a number of one
// process: libvgpu.so sends the file itself along with the request, or installs the one that comes
// with the reply and writes its number into the arguments. Libc only.
#pragma once

#include "abi/kfd.h"
#include "abi/kfd_preempt.h"

namespace vgpu::protocol {

enum class IoctlFile : gp::u8 { none, in_request, in_reply };

struct IoctlWithFile {
  gp::u32 nr;
  IoctlFile file;
};
constexpr IoctlWithFile kIoctlsWithFile[] = {
    {gp::abi::kfd_acquire_vm, IoctlFile::in_request},           // drm_fd
    {gp::abi::kfd_dbg_trap, IoctlFile::in_request},             // ENABLE: dbg_fd
    {gp::abi::kfd_alloc_memory_of_gpu, IoctlFile::in_request},  // USERPTR: the pages' memfd
    {gp::abi::kfd_smi_events, IoctlFile::in_reply},             // anon_fd
    {gp::abi::kfd_preempt_lease, IoctlFile::in_reply},          // lease_fd
};

constexpr IoctlFile file_of_ioctl(gp::u32 nr) {
  for (const IoctlWithFile& each : kIoctlsWithFile) {
    if (each.nr == nr) {
      return each.file;
    }
  }
  return IoctlFile::none;
}

}  // namespace vgpu::protocol
