// Does this program run in a container? There is no one answer: signs, each of which is enough.
#pragma once

#include <optional>
#include <string>

#include "os/os.h"

namespace gp::verify {

struct ContainerSigns {
  std::string mark;              // "/.dockerenv is there"; empty: no sign
  std::optional<bool> own_pids;  // a pid namespace of its own; empty: not known

  bool any() const { return !mark.empty() || own_pids.value_or(false); }
};

ContainerSigns container_signs(Os& os);

}  // namespace gp::verify
