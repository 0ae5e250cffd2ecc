// The options that describe a virtual device, declared once: `vgpu run` and `vgpu start` check them
// and show their help from this table, vgpud parses them with it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "libc/types.h"

namespace vgpu::protocol {

// A device as it is asked for. Where there is a choice of names it is one of them.
struct DeviceDescription {
  std::string profile = "mi210";
  gp::u32 gpus = 1;
  gp::u32 cus = 8;
  gp::u32 hqds = 24;
  gp::u32 workers = 2;
  bool lend_urgency = false;
  gp::u64 vram_bytes = gp::u64{4} << 30;
  std::string kfd = "1.17";
  std::string ptrace_rule = "6.12.95";
  bool early_ioctls = false;
  bool kernel_patches = false;
  std::string cost_model = "none";
  gp::u64 hws_timeout_ms = 9000;
};

struct DeviceOption {
  const char* name;     // "--cus"
  const char* value;    // what stands for the value in a help text: "N"
  const char* initial;  // the default, as text; empty: chosen by the profile or the machine
  const char* help;
  gp::Status (*set)(DeviceDescription& device, std::string_view text);
};

std::span<const DeviceOption> device_options();

// Sets one option; the error names it.
gp::Status set_device_option(DeviceDescription& device, std::string_view name,
                             std::string_view value);

// The device when nothing is said.
DeviceDescription default_device();

// What `vgpu list` shows of a device: "mi210, 1 GPU, 8 CUs, 24 HQDs, 4G, KFD 1.17".
std::string describe_device(const DeviceDescription& device);

constexpr gp::u64 kVramStep = gp::u64{2} << 20;  // the memory of a GPU is a multiple of this

}  // namespace vgpu::protocol
