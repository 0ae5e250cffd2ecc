// Where the parts of gpreempt find each other: where they were built, unpacked or installed
// together, whatever folder that is.
#pragma once

#include <string>

#include "base/result.h"

namespace gp {

enum class PartKind {
  program,  // that people call: gpreempt, gpreemptd, vgpu
  helper,   // that programs call: gpreempt-keeper
  example,  // server, trainer
  library,  // that others are made to load: libgpreempt_agent.so, libvgpu.so
};

// The path of a part, from where this program, or the library with this code in it, lies. ENOENT:
// it is nowhere there.
Result<std::string> find_part(PartKind part, const std::string& name);

}  // namespace gp
