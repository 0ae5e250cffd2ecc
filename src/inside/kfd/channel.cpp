#include "kfd/channel.h"

#include <errno.h>
#include <sys/ioctl.h>

namespace gp::kfd {

int system_ioctl(void* /*context*/, int fd, unsigned long request, void* argument) {
  for (;;) {
    const int result = ::ioctl(fd, request, argument);
    if (result >= 0) {
      return result;
    }
    if (errno != EINTR) {
      return -errno;
    }
  }
}

}  // namespace gp::kfd
