// Starts vgpud and waits until it is ready.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace vgpu::cli {

struct ServerProcess {
  pid_t pid = 0;          // a child of ours
  gp::UniqueFd lifetime;  // it ends when this is closed; empty: it stays
};

enum class Lifetime { until_stopped, until_starter_ends };

// `device_options` are passed on. The error is what the server said.
gp::Result<ServerProcess> start_server(const std::string& directory,
                                       const std::vector<std::string>& device_options,
                                       Lifetime lifetime);

}  // namespace vgpu::cli
