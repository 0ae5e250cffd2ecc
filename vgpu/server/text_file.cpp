#include "server/text_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace vgpu::server {

gp::Result<gp::UniqueFd> make_text_file(std::string_view text) {
  gp::UniqueFd fd(::memfd_create("vgpu-text", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) {
    return gp::Error{errno, "memfd_create", ""};
  }
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written =
        ::pwrite(fd.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (written <= 0) {
      return gp::Error{errno, "write a text file", ""};
    }
    done += static_cast<std::size_t>(written);
  }
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return fd;
}

}  // namespace vgpu::server
