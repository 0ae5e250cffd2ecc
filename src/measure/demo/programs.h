// The programs the demo uses: they lie beside this one, as built or as installed.
#pragma once

#include <string>

#include "base/result.h"

namespace gp::demo {

struct Places {
  std::string gpreempt, gpreemptd, vgpu, trainer, server;
};

// All of them. ENOENT names the one that is missing.
Result<Places> find_places();

}  // namespace gp::demo
