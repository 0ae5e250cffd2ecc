#include "protocol/device_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <thread>

#include "base/units.h"

namespace vgpu::protocol {
namespace {

using namespace gp;  // NOLINT(google-build-using-namespace): as everywhere in vgpu

constexpr u64 kSmallestVram = u64{64} << 20;
constexpr u64 kLargestVram = u64{1} << 40;

Status set_u32(u32& target, std::string_view text, u64 lowest, u64 highest) {
  target = static_cast<u32>(TRY(parse_number(text, lowest, highest)));
  return ok();
}

Error not_one_of(std::string_view text, std::string_view choices) {
  return Error{EINVAL, fmt::format("'{}' is not one of {}", text, choices), ""};
}

Status set_name(std::string& target, std::string_view text,
                std::initializer_list<std::string_view> choices) {
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    return not_one_of(text, fmt::format("{}", fmt::join(choices, ", ")));
  }
  target = text;
  return ok();
}

Status set_vram(DeviceDescription& device, std::string_view text) {
  const u64 bytes = TRY(parse_size(text));
  if (bytes < kSmallestVram || bytes > kLargestVram || bytes % kVramStep != 0) {
    return Error{ERANGE, fmt::format("'{}'", text), ""}.with_hint(
        fmt::format("a multiple of 2M between {} and {}", format_size(kSmallestVram),
                    format_size(kLargestVram)));
  }
  device.vram_bytes = bytes;
  return ok();
}

Status set_switch(bool& target, std::string_view text) {
  if (text != "on" && text != "off") {
    return not_one_of(text, "on, off");
  }
  target = text == "on";
  return ok();
}

Status set_hws_timeout(DeviceDescription& device, std::string_view text) {
  const u64 milliseconds = TRY(parse_duration_ns(text)) / 1'000'000;
  if (milliseconds == 0) {
    return Error{ERANGE, fmt::format("'{}'", text), ""}.with_hint("at least 1ms");
  }
  device.hws_timeout_ms = milliseconds;
  return ok();
}

constexpr DeviceOption kOptions[] = {
    {"--profile", "NAME", "mi210", "The card to imitate: mi210 (gfx90a) or mi50 (gfx906)",
     [](DeviceDescription& d, std::string_view t) {
       return set_name(d.profile, t, {"mi210", "mi50"});
     }},
    {"--gpus", "N", "1", "Number of GPUs, all alike",
     [](DeviceDescription& d, std::string_view t) { return set_u32(d.gpus, t, 1, 16); }},
    {"--cus", "N", "8", "Compute units per GPU",
     [](DeviceDescription& d, std::string_view t) { return set_u32(d.cus, t, 1, 128); }},
    {"--hqds", "N", "24", "Hardware queue slots for compute per GPU",
     [](DeviceDescription& d, std::string_view t) { return set_u32(d.hqds, t, 1, 128); }},
    {"--workers", "N", "", "Interpreter threads per GPU (default: one per CPU, at most 8)",
     [](DeviceDescription& d, std::string_view t) { return set_u32(d.workers, t, 1, 64); }},
    {"--vram", "SIZE", "4G", "Memory per GPU; what is not used costs nothing", set_vram},
    {"--kfd", "VERSION", "1.17",
     "Driver interface: 1.11 (Linux 6.1), 1.17 (Linux 6.12), dkms (1.17 and AMD's IPC ioctls)",
     [](DeviceDescription& d, std::string_view t) {
       return set_name(d.kfd, t, {"1.11", "1.17", "dkms"});
     }},
    {"--ptrace-rule", "KERNEL", "6.12.95",
     "Who may use the debugger interface: 6.12.95 (the tracing thread) or 6.12.107 (its process)",
     [](DeviceDescription& d, std::string_view t) {
       return set_name(d.ptrace_rule, t, {"6.12.95", "6.12.107"});
     }},
    {"--lend-urgency", "on|off", "off",
     "Who waits for these threads makes them real-time meanwhile",
     [](DeviceDescription& d, std::string_view t) { return set_switch(d.lend_urgency, t); }},
    {"--early-ioctls", "on|off", "off",
     "Answer PREEMPT_QUEUE (0x87) and RESUME_QUEUE (0x88), which no released driver has",
     [](DeviceDescription& d, std::string_view t) { return set_switch(d.early_ioctls, t); }},
    {"--kernel-patches", "on|off", "off",
     "Answer the preemption calls (0xE0 to 0xE8) of a driver with gpreempt's kernel patches",
     [](DeviceDescription& d, std::string_view t) { return set_switch(d.kernel_patches, t); }},
    {"--cost-model", "NAME", "none",
     "Add the time real hardware needs to save and restore waves: mi210, mi300x or none",
     [](DeviceDescription& d, std::string_view t) {
       return set_name(d.cost_model, t, {"mi210", "mi300x", "none"});
     }},
    {"--hws-timeout", "TIME", "9s", "How long the driver waits for the scheduler before a reset",
     set_hws_timeout},
};

}  // namespace

std::span<const DeviceOption> device_options() { return kOptions; }

Status set_device_option(DeviceDescription& device, std::string_view name, std::string_view value) {
  const auto* option =
      std::find_if(std::begin(kOptions), std::end(kOptions),
                   [&](const DeviceOption& candidate) { return name == candidate.name; });
  if (option == std::end(kOptions)) {
    return Error{EINVAL, fmt::format("unknown option {}", name), ""};
  }
  Status status = option->set(device, value);
  if (!status) {
    Error error = status.error();
    error.what = fmt::format("option {}: {}", name, error.what);
    return error;
  }
  return ok();
}

DeviceDescription default_device() {
  DeviceDescription device;
  device.workers = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  return device;
}

std::string describe_device(const DeviceDescription& device) {
  return fmt::format("{}, {} GPU{}, {} CUs, {} HQDs, {}, KFD {}{}", device.profile, device.gpus,
                     device.gpus == 1 ? "" : "s", device.cus, device.hqds,
                     format_size(device.vram_bytes), device.kfd,
                     device.kernel_patches ? " with kernel patches" : "");
}

}  // namespace vgpu::protocol
