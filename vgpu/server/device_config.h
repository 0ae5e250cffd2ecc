// What the driver is to be like, from what the options say.
#pragma once

#include "driver/driver.h"
#include "protocol/device_options.h"

namespace vgpu::server {

driver::DriverConfig config_of(const protocol::DeviceDescription& device);

}  // namespace vgpu::server
