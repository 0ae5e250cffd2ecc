// What the driver complains about while something is measured: the kernel's log on hardware, the
// device's own on a virtual GPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gp::bench {

class DriverLog {
 public:
  // From now on. Fails if this user may not read the log.
  static Result<DriverLog> open();

  // Warnings and errors since open(), oldest first.
  Result<std::vector<std::string>> complaints();

 private:
  DriverLog(UniqueFd file, bool is_kernel) : file_(std::move(file)), is_kernel_(is_kernel) {}

  UniqueFd file_;
  bool is_kernel_;
};

// Is this record of /dev/kmsg ("level,sequence,time,flags;text",
// Documentation/ABI/testing/dev-kmsg) a warning or worse about the GPU?
bool is_complaint_of_kernel(std::string_view record);
// Is this line of vgpud's log one?
bool is_complaint_of_device(std::string_view line);

}  // namespace gp::bench
