#include "cli/live_snapshot.h"

#include <cerrno>

namespace gp::cli {

Result<discover::Snapshot> live_snapshot(const discover::Sources& sources) {
  const auto classes = TRY(discover::class_config_from_environment());
  Result<discover::Snapshot> snapshot =
      discover::take_snapshot(kfd::system_os(), {}, classes, sources);
  if (!snapshot && snapshot.error().code == ENOENT) {
    return Error{ENODEV, "no AMD GPU driver here: there is no /sys/class/kfd/kfd",
                 "load amdgpu, or try the virtual GPU: vgpu run -- gpreempt queues"};
  }
  return snapshot;
}

}  // namespace gp::cli
