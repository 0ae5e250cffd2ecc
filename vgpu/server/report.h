// What the server says about itself and its devices, as JSON (`vgpu stats`, `vgpu list`).
#pragma once

#include <string>

#include "driver/driver.h"
#include "protocol/device_options.h"

namespace vgpu::server {

std::string stats_json(const driver::Stats& stats, const protocol::DeviceDescription& device);
// Answer to a ping: who we are and what devices we have.
std::string identity_json(const protocol::DeviceDescription& device);

}  // namespace vgpu::server
