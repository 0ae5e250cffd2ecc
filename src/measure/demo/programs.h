// The programs the demo uses: they lie beside this one, as built or as installed.
#pragma once

#include <string>

#include "base/result.h"

namespace gp::demo {

struct Programs {
  std::string gpreempt, gpreemptd, vgpu, trainer, server, llm_client, load;
};

// All of them. ENOENT names the one that is missing.
Result<Programs> find_programs();

// Those of `gpreempt verify`: gpreempt, gpreemptd, load; vgpu only if it is there.
Result<Programs> find_verify_programs();

}  // namespace gp::demo
