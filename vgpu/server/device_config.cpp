#include "server/device_config.h"

#include "memory/page_table.h"

namespace vgpu::server {
namespace {

static_assert(protocol::kVramStep == kChunkSize);

// The names have been checked when the options were set.
driver::KfdVersion kfd_version(std::string_view name) {
  using driver::KfdVersion;
  return name == "1.11" ? KfdVersion::v1_11 : name == "dkms" ? KfdVersion::dkms : KfdVersion::v1_17;
}

driver::PtraceRule ptrace_rule(std::string_view kernel) {
  using driver::PtraceRule;
  return kernel == "6.12.107" ? PtraceRule::debugger_process : PtraceRule::tracer_thread;
}

device::CostModel cost_model(std::string_view name) {
  using device::CostModel;
  return name == "mi210"    ? CostModel::mi210
         : name == "mi300x" ? CostModel::mi300x
                            : CostModel::none;
}

}  // namespace

driver::DriverConfig config_of(const protocol::DeviceDescription& device) {
  driver::DriverConfig config;
  config.profile = device.profile;
  config.gpus = device.gpus;
  config.gpu.cus = device.cus;
  config.gpu.hqds = device.hqds;
  config.gpu.workers = device.workers;
  config.gpu.lend_urgency = device.lend_urgency;
  config.gpu.cost_model = cost_model(device.cost_model);
  config.vram_bytes = device.vram_bytes;
  config.kfd = kfd_version(device.kfd);
  config.ptrace_rule = ptrace_rule(device.ptrace_rule);
  config.early_ioctls = device.early_ioctls;
  config.kernel_patches = device.kernel_patches;
  config.hws_timeout_ms = device.hws_timeout_ms;
  return config;
}

}  // namespace vgpu::server
