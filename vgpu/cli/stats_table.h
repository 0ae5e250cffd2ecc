// The statistics of a device, for people.
#pragma once

#include <string>

namespace vgpu::cli {

// `json` is what the server answers to kind_stats.
std::string stats_table(const std::string& json);

}  // namespace vgpu::cli
