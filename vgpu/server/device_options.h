// The options that describe a virtual device, declared once: `vgpu run` and `vgpu start` check them
// and show their help from this table, vgpud parses them with it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "driver/driver.h"

namespace vgpu::server {

struct DeviceOption {
  const char* name;     // "--cus"
  const char* value;    // what stands for the value in a help text: "N"
  const char* initial;  // the default, as text; empty: chosen by the profile or the machine
  const char* help;
  Status (*set)(driver::DriverConfig& config, std::string_view text);
};

std::span<const DeviceOption> device_options();

// Sets one option; the error names it.
Status set_device_option(driver::DriverConfig& config, std::string_view name,
                         std::string_view value);

// The configuration when nothing is said.
driver::DriverConfig default_device();

// What `vgpu list` shows of a configuration: "mi210, 1 GPU, 8 CUs, 24 HQDs, 4G, KFD 1.17".
std::string describe_device(const driver::DriverConfig& config);

const char* name_of(driver::KfdVersion version);
const char* name_of(device::CostModel model);

}  // namespace vgpu::server
