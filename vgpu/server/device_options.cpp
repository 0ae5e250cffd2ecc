#include "server/device_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/units.h"

namespace vgpu::server {
namespace {

using driver::DriverConfig;
using driver::KfdVersion;
using driver::PtraceRule;

constexpr u64 kSmallestVram = u64{64} << 20;
constexpr u64 kLargestVram = u64{1} << 40;

Status set_u32(u32& target, std::string_view text, u64 lowest, u64 highest) {
  target = static_cast<u32>(TRY(parse_number(text, lowest, highest)));
  return ok();
}

Error not_one_of(std::string_view text, std::string_view choices) {
  return Error{EINVAL, fmt::format("'{}' is not one of {}", text, choices), ""};
}

Status set_profile(DriverConfig& config, std::string_view text) {
  if (text != "mi210" && text != "mi50") {
    return not_one_of(text, "mi210, mi50");
  }
  config.profile = text;
  return ok();
}

Status set_vram(DriverConfig& config, std::string_view text) {
  const u64 bytes = TRY(parse_size(text));
  if (bytes < kSmallestVram || bytes > kLargestVram || bytes % kChunkSize != 0) {
    return Error{ERANGE, fmt::format("'{}'", text), ""}.with_hint(
        fmt::format("a multiple of 2M between {} and {}", format_size(kSmallestVram),
                    format_size(kLargestVram)));
  }
  config.vram_bytes = bytes;
  return ok();
}

Status set_kfd(DriverConfig& config, std::string_view text) {
  for (KfdVersion version : {KfdVersion::v1_11, KfdVersion::v1_17, KfdVersion::dkms}) {
    if (text == name_of(version)) {
      config.kfd = version;
      return ok();
    }
  }
  return not_one_of(text, "1.11, 1.17, dkms");
}

Status set_ptrace_rule(DriverConfig& config, std::string_view text) {
  if (text == "6.12.95") {
    config.ptrace_rule = PtraceRule::tracer_thread;
  } else if (text == "6.12.107") {
    config.ptrace_rule = PtraceRule::debugger_process;
  } else {
    return not_one_of(text, "6.12.95, 6.12.107");
  }
  return ok();
}

Status set_switch(bool& target, std::string_view text) {
  if (text != "on" && text != "off") {
    return not_one_of(text, "on, off");
  }
  target = text == "on";
  return ok();
}

Status set_cost_model(DriverConfig& config, std::string_view text) {
  using device::CostModel;
  for (CostModel model : {CostModel::none, CostModel::mi210, CostModel::mi300x}) {
    if (text == name_of(model)) {
      config.gpu.cost_model = model;
      return ok();
    }
  }
  return not_one_of(text, "mi210, mi300x, none");
}

Status set_hws_timeout(DriverConfig& config, std::string_view text) {
  const u64 milliseconds = TRY(parse_duration_ns(text)) / 1'000'000;
  if (milliseconds == 0) {
    return Error{ERANGE, fmt::format("'{}'", text), ""}.with_hint("at least 1ms");
  }
  config.hws_timeout_ms = milliseconds;
  return ok();
}

constexpr DeviceOption kOptions[] = {
    {"--profile", "NAME", "mi210", "The card to imitate: mi210 (gfx90a) or mi50 (gfx906)",
     set_profile},
    {"--gpus", "N", "1", "Number of GPUs, all alike",
     [](DriverConfig& c, std::string_view t) { return set_u32(c.gpus, t, 1, 16); }},
    {"--cus", "N", "8", "Compute units per GPU",
     [](DriverConfig& c, std::string_view t) { return set_u32(c.gpu.cus, t, 1, 128); }},
    {"--hqds", "N", "24", "Hardware queue slots for compute per GPU",
     [](DriverConfig& c, std::string_view t) { return set_u32(c.gpu.hqds, t, 1, 128); }},
    {"--workers", "N", "", "Interpreter threads per GPU (default: one per CPU, at most 8)",
     [](DriverConfig& c, std::string_view t) { return set_u32(c.gpu.workers, t, 1, 64); }},
    {"--vram", "SIZE", "4G", "Memory per GPU; what is not used costs nothing", set_vram},
    {"--kfd", "VERSION", "1.17",
     "Driver interface: 1.11 (Linux 6.1), 1.17 (Linux 6.12), dkms (1.17 and AMD's IPC ioctls)",
     set_kfd},
    {"--ptrace-rule", "KERNEL", "6.12.95",
     "Who may use the debugger interface: 6.12.95 (the tracing thread) or 6.12.107 (its process)",
     set_ptrace_rule},
    {"--early-ioctls", "on|off", "off",
     "Answer PREEMPT_QUEUE (0x87) and RESUME_QUEUE (0x88), which no released driver has",
     [](DriverConfig& c, std::string_view t) { return set_switch(c.early_ioctls, t); }},
    {"--kernel-patches", "on|off", "off",
     "Answer the preemption calls (0xE0 to 0xE8) of a driver with gpreempt's kernel patches",
     [](DriverConfig& c, std::string_view t) { return set_switch(c.kernel_patches, t); }},
    {"--cost-model", "NAME", "none",
     "Add the time real hardware needs to save and restore waves: mi210, mi300x or none",
     set_cost_model},
    {"--hws-timeout", "TIME", "9s", "How long the driver waits for the scheduler before a reset",
     set_hws_timeout},
};

}  // namespace

std::span<const DeviceOption> device_options() { return kOptions; }

Status set_device_option(DriverConfig& config, std::string_view name, std::string_view value) {
  const auto* option =
      std::find_if(std::begin(kOptions), std::end(kOptions),
                   [&](const DeviceOption& candidate) { return name == candidate.name; });
  if (option == std::end(kOptions)) {
    return Error{EINVAL, fmt::format("unknown option {}", name), ""};
  }
  Status status = option->set(config, value);
  if (!status) {
    Error error = status.error();
    error.what = fmt::format("option {}: {}", name, error.what);
    return error;
  }
  return ok();
}

DriverConfig default_device() {
  DriverConfig config;
  config.gpu.workers = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  return config;
}

std::string describe_device(const DriverConfig& config) {
  return fmt::format("{}, {} GPU{}, {} CUs, {} HQDs, {}, KFD {}{}", config.profile, config.gpus,
                     config.gpus == 1 ? "" : "s", config.gpu.cus, config.gpu.hqds,
                     format_size(config.vram_bytes), name_of(config.kfd),
                     config.kernel_patches ? " with kernel patches" : "");
}

const char* name_of(KfdVersion version) {
  switch (version) {
    case KfdVersion::v1_11: return "1.11";
    case KfdVersion::v1_17: return "1.17";
    case KfdVersion::dkms: return "dkms";
  }
  return "?";
}

const char* name_of(device::CostModel model) {
  switch (model) {
    case device::CostModel::none: return "none";
    case device::CostModel::mi210: return "mi210";
    case device::CostModel::mi300x: return "mi300x";
  }
  return "?";
}

}  // namespace vgpu::server
