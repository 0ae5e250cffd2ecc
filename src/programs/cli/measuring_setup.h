// What a command that measures stands on: a GPU, its programs, and a way to be ended.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "demo/places.h"

namespace gp::cli {

struct Ground {
  demo::Places places;
  UniqueFd end_signals;
};

// Checks first that the results can be kept under these paths (empty ones are none). Without a GPU,
// or if a virtual one is wanted, this process is replaced by one on a virtual GPU: `words` follow
// "gpreempt", and the device has the options of `vgpu run` that are given.
Result<Ground> find_ground(const std::vector<std::string>& paths, bool virtual_gpu,
                           const std::vector<std::string>& words,
                           const std::vector<std::string>& device_options = {});

}  // namespace gp::cli
