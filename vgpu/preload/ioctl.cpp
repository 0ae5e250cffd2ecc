// ioctl on a kfd file: the arguments go to the driver in the server and come back, also when it
// fails. A few commands need more than that: those that carry a file (protocol/ioctl_files.h), and
// those about memory of the program that the GPU is to see.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi/kfd.h"
#include "abi/kfd_preempt.h"
#include "preload/channel.h"
#include "preload/drm_ioctl.h"
#include "preload/export.h"
#include "preload/kfd_file.h"
#include "preload/userptr.h"
#include "protocol/ioctl_files.h"

namespace {

using namespace vgpu;
using namespace vgpu::preload;
using gp::u32;
using gp::u64;

VGPU_ORIGINAL(ioctl, int(int, unsigned long, ...));

struct KfdCall {
  FileIdentity file;
  u32 command;
  void* arguments;  // the program's; may be a bad pointer
  u32 size() const { return _IOC_SIZE(command); }
};

// The program's arguments, checked as copy_from_user does. Shorter structs are filled with zeros.
template <class Args>
bool copy_arguments(const KfdCall& kfd, Args& args) {
  memset(&args, 0, sizeof args);
  const size_t size = kfd.size() < sizeof args ? kfd.size() : sizeof args;
  iovec local = {&args, size}, remote = {kfd.arguments, size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

Message message_for(const KfdCall& kfd) {
  Message message;
  message.kind = wire::kind_ioctl;
  message.argument = kfd.command;
  message.file_device = kfd.file.device;
  message.file_inode = kfd.file.inode;
  message.data = kfd.arguments;
  message.size = kfd.size();
  return message;
}

int forward(const KfdCall& kfd, int passed_fd, int* received_fd) {
  Message message = message_for(kfd);
  message.passed_fd = passed_fd;
  Answer answer;
  // The kernel writes the arguments back, whatever the result, if the command has an output.
  if (_IOC_DIR(kfd.command) & _IOC_READ) {
    answer.data = kfd.arguments;
    answer.capacity = kfd.size();
  }
  const int result = call(message, answer);
  if (received_fd != nullptr) {
    *received_fd = answer.fd;
  } else if (answer.fd >= 0) {
    close(answer.fd);
  }
  return result;
}

// The file comes with the reply and its number goes into the arguments.
template <u32 Nr, class Args>
int receive_file(const KfdCall& kfd, u32 Args::*number) {
  static_assert(protocol::file_of_ioctl(Nr) == protocol::IoctlFile::in_reply);
  int fd = -1;
  const int result = forward(kfd, -1, &fd);
  if (result < 0 || fd < 0 || kfd.size() < sizeof(Args)) {
    if (fd >= 0) {
      close(fd);
    }
    return result;
  }
  static_cast<Args*>(kfd.arguments)->*number = static_cast<u32>(fd);
  return result;
}

// DBG_TRAP ENABLE: the debugger's event file, by number. A number that is not open is the driver's
// to refuse.
int debug_trap(const KfdCall& kfd) {
  gp::abi::DbgTrapArgs args;
  if (!copy_arguments(kfd, args)) {
    return -EFAULT;
  }
  int passed = -1;
  if (args.op == gp::abi::dbg_enable && fcntl(static_cast<int>(args.enable.dbg_fd), F_GETFD) >= 0) {
    passed = static_cast<int>(args.enable.dbg_fd);
  }
  return forward(kfd, passed, nullptr);
}

// ACQUIRE_VM: the render node's file (kfd_ioctl_acquire_vm: fget, EINVAL).
int acquire_vm(const KfdCall& kfd) {
  gp::abi::AcquireVmArgs args;
  if (!copy_arguments(kfd, args)) {
    return -EFAULT;
  }
  if (fcntl(static_cast<int>(args.drm_fd), F_GETFD) < 0) {
    return -EINVAL;
  }
  return forward(kfd, static_cast<int>(args.drm_fd), nullptr);
}

void free_in_driver(const KfdCall& kfd, u64 handle) {
  gp::abi::FreeMemoryArgs args{};
  args.handle = handle;
  KfdCall undo = kfd;
  undo.command =
      _IOC(_IOC_WRITE, gp::abi::kKfdIoctlBase, gp::abi::kfd_free_memory_of_gpu, sizeof args);
  undo.arguments = &args;
  forward(undo, -1, nullptr);
}

int alloc_memory(const KfdCall& kfd) {
  gp::abi::AllocMemoryArgs args;
  if (!copy_arguments(kfd, args)) {
    return -EFAULT;
  }
  if (!(args.flags & gp::abi::alloc_userptr)) {
    return forward(kfd, -1, nullptr);
  }
  if (const int refused = check_user_memory(args.mmap_offset, args.size)) {
    return refused;
  }
  const int file = user_memory_file();
  if (file < 0) {
    return file;
  }
  const int result = forward(kfd, file, nullptr);
  if (result < 0) {
    return result;
  }
  auto* out = static_cast<gp::abi::AllocMemoryArgs*>(kfd.arguments);
  out->mmap_offset = args.mmap_offset;
  const int moved = register_user_memory(out->handle, args.mmap_offset, args.size);
  if (moved < 0) {
    free_in_driver(kfd, out->handle);
    return moved;
  }
  return result;
}

// The driver frees first: once it has, the GPU cannot write to the pages while they move back.
int free_memory(const KfdCall& kfd) {
  gp::abi::FreeMemoryArgs args;
  if (!copy_arguments(kfd, args)) {
    return -EFAULT;
  }
  const int result = forward(kfd, -1, nullptr);
  if (result >= 0 || result == -ENODEV) {
    unregister_user_memory(args.handle);
  }
  return result;
}

int kfd_ioctl(const KfdCall& kfd) {
  using namespace gp::abi;  // NOLINT(google-build-using-namespace): the numbers
  switch (_IOC_NR(kfd.command)) {
    case kfd_smi_events: return receive_file<kfd_smi_events>(kfd, &SmiEventsArgs::anon_fd);
    case kfd_preempt_lease:
      return receive_file<kfd_preempt_lease>(kfd, &PreemptLeaseArgs::lease_fd);
    case kfd_dbg_trap: return debug_trap(kfd);
    case kfd_acquire_vm: return acquire_vm(kfd);
    case kfd_alloc_memory_of_gpu: return alloc_memory(kfd);
    case kfd_free_memory_of_gpu: return free_memory(kfd);
    default: return forward(kfd, -1, nullptr);
  }
}

int as_libc_returns(int result) {
  if (result < 0) {
    errno = -result;
    return -1;
  }
  return result;
}

}  // namespace

VGPU_EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  if (_IOC_TYPE(request) == kDrmIoctlBase && is_drm_file(fd)) {
    return as_libc_returns(drm_ioctl(static_cast<u32>(request), argument));
  }
  FileIdentity file;
  // The console has ioctls of type 'K' too; the file decides.
  if (_IOC_TYPE(request) != gp::abi::kKfdIoctlBase || !is_kfd_file(fd, file)) {
    return original_ioctl(fd, request, argument);
  }
  return as_libc_returns(kfd_ioctl({file, static_cast<u32>(request), argument}));
}
