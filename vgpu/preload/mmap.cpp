// mmap of the kfd file: a doorbell page. The mapping itself needs nothing, the file is a memfd. But
// the server would have to look at the page all the time to see a doorbell ring. So the page is
// given to a userfaultfd that the server holds: while the GPU is idle it protects the page, and the
// first store wakes it. Without userfaultfd the server looks at the page now and then.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/channel.h"
#include "preload/export.h"
#include "preload/kfd_file.h"
#include "preload/userfault.h"

namespace {

using namespace vgpu;
using namespace vgpu::preload;
using gp::u64;

// Not by dlsym: an allocator that calls mmap while it sets itself up would be entered again.
void* system_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, fd, offset));
}

bool may_be_doorbell(int protection, int flags, int fd) {
  FileIdentity file;
  return fd >= 0 && (protection & PROT_WRITE) && (flags & MAP_SHARED) && is_kfd_file(fd, file);
}

// The server decides whether it is a doorbell page (and not the MMIO page); if it does not keep the
// descriptor, closing ours ends the registration.
void offer_to_server(u64 address, u64 size, u64 offset) {
  const int userfault = open_userfault();
  if (userfault < 0) {
    return;
  }
  if (watch_writes(userfault, address, address + size)) {
    Message message;
    message.kind = wire::kind_doorbell;
    message.argument = address;
    message.file_inode = offset;
    message.passed_fd = userfault;
    Answer answer;
    call(message, answer);
  }
  close(userfault);
}

void after_mmap(void* result, size_t size, int protection, int flags, int fd, u64 offset) {
  if (result != MAP_FAILED && may_be_doorbell(protection, flags, fd)) {
    constexpr u64 kPage = 4096;
    offer_to_server(reinterpret_cast<u64>(result), (size + kPage - 1) / kPage * kPage, offset);
  }
}

}  // namespace

VGPU_EXPORT void* mmap(void* address, size_t size, int protection, int flags, int fd,
                       off_t offset) noexcept {
  void* result = system_mmap(address, size, protection, flags, fd, offset);
  after_mmap(result, size, protection, flags, fd, static_cast<u64>(offset));
  return result;
}

VGPU_EXPORT void* mmap64(void* address, size_t size, int protection, int flags, int fd,
                         off64_t offset) noexcept {
  void* result = system_mmap(address, size, protection, flags, fd, offset);
  after_mmap(result, size, protection, flags, fd, static_cast<u64>(offset));
  return result;
}
