// What the daemon knows of the driver apart from processes, for `gpreempt status`.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "libc/types.h"

namespace gp::daemon {

struct ReservedSlots {
  std::optional<u32> slots;  // empty: none was made
  std::string error;         // why it could not be made
};

struct DriverView {
  std::string no_kernel;                  // why the mechanism kernel is not there; empty: it is
  std::map<u32, ReservedSlots> reserved;  // by gpu_id, where the configuration asks for it
};

}  // namespace gp::daemon
