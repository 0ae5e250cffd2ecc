#include "driver/injection.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <optional>

#include "driver/queues/queues.h"

namespace vgpu::driver {
namespace {

constexpr char kHelp[] =
    "suspend-fails[=N], unmap-delay=DURATION, hws-hang, drop-doorbell[=N], vram-full=on|off, "
    "evict=PID, restore=PID, clear";

std::optional<u32> parse_number(std::string_view text) {
  u32 value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// "20ms", "1.5s", "300us"
std::optional<u64> parse_duration_ns(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(result.ptr, text.data() + text.size() - result.ptr);
  const double scale = unit == "ns"   ? 1
                       : unit == "us" ? 1e3
                       : unit == "ms" ? 1e6
                       : unit == "s"  ? 1e9
                                      : 0;
  if (result.ec != std::errc() || scale == 0 || value < 0 || !std::isfinite(value)) {
    return std::nullopt;
  }
  return static_cast<u64>(value * scale);
}

// Hands the combination of everything injected so far to every device.
template <class Change>
Status change_injection(Module& module, Change change) {
  const std::lock_guard lock(module.injection_mutex);
  change(module.injection);
  for (const auto& node : module.nodes) {
    node->gpu->inject(module.injection);
  }
  module.injection.drop_doorbells = 0;  // counted down by the devices
  module.injection.hws_hang = false;    // ended by a reset
  return ok();
}

Status bad(std::string_view fault) {
  return Error{EINVAL, fmt::format("cannot inject \"{}\"", fault),
               fmt::format("faults: {}", kHelp)};
}

Status evict_or_restore(Module& module, bool evict, u32 pid) {
  const ProcessPtr process = module.find_process(static_cast<pid_t>(pid));
  if (!process) {
    return Error{ESRCH, fmt::format("process {} does not use the device", pid), ""};
  }
  const std::lock_guard lock(process->mutex);
  const int error = evict ? evict_process(*process, abi::eviction_ttm) : restore_process(*process);
  if (error) {
    return Error{-error, fmt::format("{} process {}", evict ? "evict" : "restore", pid), ""};
  }
  return ok();
}

Status clear(Module& module) {
  for (const auto& node : module.nodes) {
    node->dqm->fail_suspends(0);
  }
  module.pool->set_vram_full(false);
  return change_injection(module, [](device::Injection& injection) { injection = {}; });
}

}  // namespace

void hang_scheduler(Module& module, Node& node) {
  const std::lock_guard lock(module.injection_mutex);
  device::Injection injection = module.injection;
  injection.hws_hang = true;
  node.gpu->inject(injection);
  // Something must ask the scheduler for it to be noticed (dqm_debugfs_hang_hws executes queues).
  module.work->add([&node] { node.dqm->refresh(); });
}

Status inject_fault(Module& module, std::string_view fault) {
  const std::size_t equals = fault.find('=');
  const std::string_view name = fault.substr(0, equals);
  const bool has_value = equals != std::string_view::npos;
  const std::string_view value = has_value ? fault.substr(equals + 1) : "";
  const std::optional<u32> count = has_value ? parse_number(value) : 1;

  if (name == "clear" && !has_value) {
    return clear(module);
  }
  if (name == "hws-hang" && !has_value) {
    return change_injection(module, [](device::Injection& i) { i.hws_hang = true; });
  }
  if (name == "suspend-fails" && count) {
    for (const auto& node : module.nodes) {
      node->dqm->fail_suspends(*count);
    }
    return ok();
  }
  if (name == "drop-doorbell" && count) {
    return change_injection(module, [&](device::Injection& i) { i.drop_doorbells = *count; });
  }
  if (name == "unmap-delay") {
    if (const auto delay = parse_duration_ns(value)) {
      return change_injection(module, [&](device::Injection& i) { i.unmap_delay_ns = *delay; });
    }
  }
  if (name == "vram-full" && (value == "on" || value == "off")) {
    module.pool->set_vram_full(value == "on");
    return ok();
  }
  if ((name == "evict" || name == "restore") && has_value && count) {
    return evict_or_restore(module, name == "evict", *count);
  }
  return bad(fault);
}

}  // namespace vgpu::driver
