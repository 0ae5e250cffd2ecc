// What a command that measures needs first: a GPU, its programs, and a way to be ended.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "demo/programs.h"

namespace gp::cli {

struct MeasuringSetup {
  demo::Programs programs;
  UniqueFd end_signals;
};

// Known before a minute has gone by: whether results can be kept there. Makes nothing yet.
Status check_place_for(const std::string& path);

// Checks first that the results can be kept under these paths (empty ones are none). Without a GPU,
// or if a virtual one is wanted, this process is replaced by one on a virtual GPU: `words` follow
// "gpreempt", and the device has the options of `vgpu run` that are given.
Result<MeasuringSetup> prepare_measuring(const std::vector<std::string>& paths, bool virtual_gpu,
                                         const std::vector<std::string>& words,
                                         const std::vector<std::string>& device_options = {});

}  // namespace gp::cli
