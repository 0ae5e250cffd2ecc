// How the typed calls become requests of the driver.
#pragma once

#include <sys/ioctl.h>

#include "abi/kfd.h"
#include "kfd/channel.h"

namespace gp::kfd {

constexpr u32 kReadBack = _IOC_READ, kPassIn = _IOC_WRITE, kBoth = _IOC_READ | _IOC_WRITE;

template <class Args>
int call(const Channel& channel, u32 direction, u32 nr, Args& args) {
  return channel.ioctl(channel.context, channel.fd,
                       _IOC(direction, abi::kKfdIoctlBase, nr, sizeof(Args)), &args);
}

inline u64 address_of(const void* pointer) { return reinterpret_cast<u64>(pointer); }

}  // namespace gp::kfd
