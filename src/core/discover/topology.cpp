#include "discover/topology.h"

#include <fmt/format.h>

#include "discover/text.h"

namespace gp::discover {
namespace {

struct Property {
  std::string_view name;
  std::optional<u64> NodeProperties::*field;
};
constexpr Property kProperties[] = {
    {"simd_count", &NodeProperties::simd_count},
    {"simd_per_cu", &NodeProperties::simd_per_cu},
    {"gfx_target_version", &NodeProperties::gfx_target_version},
    {"location_id", &NodeProperties::location_id},
    {"domain", &NodeProperties::domain},
    {"drm_render_minor", &NodeProperties::drm_render_minor},
    {"num_sdma_engines", &NodeProperties::num_sdma_engines},
    {"num_sdma_xgmi_engines", &NodeProperties::num_sdma_xgmi_engines},
    {"num_sdma_queues_per_engine", &NodeProperties::num_sdma_queues_per_engine},
    {"num_cp_queues", &NodeProperties::num_cp_queues},
    {"cwsr_size", &NodeProperties::cwsr_size},
    {"ctl_stack_size", &NodeProperties::ctl_stack_size},
    {"capability", &NodeProperties::capability},
    {"num_xcc", &NodeProperties::num_xcc},
};

std::string pci_address(const NodeProperties& properties) {
  if (!properties.location_id || !properties.domain) {
    return {};
  }
  const u64 location = *properties.location_id;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *properties.domain, location >> 8 & 0xff,
                     location >> 3 & 0x1f, location & 7);
}

std::optional<u32> sdma_slots(const NodeProperties& properties) {
  if (!properties.num_sdma_engines || !properties.num_sdma_xgmi_engines ||
      !properties.num_sdma_queues_per_engine) {
    return std::nullopt;
  }
  return narrow<u32>((*properties.num_sdma_engines + *properties.num_sdma_xgmi_engines) *
                     *properties.num_sdma_queues_per_engine);
}

TopologyNode describe(u32 node_id, u32 gpu_id, const NodeProperties& properties) {
  TopologyNode result;
  Node& node = result.node;
  node.node_id = node_id;
  node.gpu_id = gpu_id;
  node.gfx_target_version = narrow<u32>(properties.gfx_target_version);
  if (properties.simd_count && properties.simd_per_cu.value_or(0) > 0) {
    node.cus = narrow<u32>(*properties.simd_count / *properties.simd_per_cu);
  }
  node.xccs = narrow<u32>(properties.num_xcc);
  node.hqds = narrow<u32>(properties.num_cp_queues);
  // Every XCC of the node saves its own waves.
  if (properties.cwsr_size && node.xccs) {
    node.save_area_bytes = *properties.cwsr_size * *node.xccs;
  }
  node.capability = narrow<u32>(properties.capability);
  node.drm_render_minor = narrow<u32>(properties.drm_render_minor);
  result.pci_address = pci_address(properties);
  result.sdma_slots = sdma_slots(properties);
  return result;
}

}  // namespace

NodeProperties parse_properties(std::string_view text) {
  NodeProperties result;
  Lines lines(text);
  while (const auto line = lines.next()) {
    std::string_view name = trim(*line);
    const std::size_t space = name.find(' ');
    if (space == std::string_view::npos) {
      result.damaged_lines += name.empty() ? 0 : 1;
      continue;
    }
    const auto value = decimal(name.substr(space));
    name = name.substr(0, space);
    for (const Property& property : kProperties) {
      if (property.name == name) {
        result.*property.field = value;
        result.damaged_lines += value ? 0 : 1;
      }
    }
  }
  result.damaged_lines += lines.cut() ? 1 : 0;
  return result;
}

Result<Topology> read_topology(Os& os, const std::string& sysfs) {
  const std::string base = fmt::format("{}/topology/nodes", sysfs);
  const std::vector<std::string> names = TRY(os.list_directory(base));
  Topology topology;
  u32 unreadable = 0, damaged = 0;
  std::string reason;
  for (const std::string& name : names) {
    const auto node_id = narrow<u32>(decimal(name));
    if (!node_id) {
      continue;
    }
    const std::string directory = fmt::format("{}/{}", base, name);
    const auto gpu_text = os.read_file(fmt::format("{}/gpu_id", directory));
    if (!gpu_text) {
      // The device cgroup hides the GPUs that were not given to a container (EPERM).
      ++unreadable;
      reason = gpu_text.error().message();
      continue;
    }
    const auto gpu_id = narrow<u32>(decimal(*gpu_text));
    if (gpu_id == 0u) {
      continue;  // a CPU
    }
    const auto text = os.read_file(fmt::format("{}/properties", directory));
    const NodeProperties properties = text ? parse_properties(*text) : NodeProperties{};
    if (!gpu_id || !text || properties.damaged_lines > 0) {
      ++damaged;
    }
    if (gpu_id) {
      topology.nodes.push_back(describe(*node_id, *gpu_id, properties));
      if (const auto marketing = os.read_file(fmt::format("{}/name", directory))) {
        topology.nodes.back().node.name = trim(*marketing);
      }
    }
  }
  if (unreadable > 0) {
    topology.warnings.push_back(
        fmt::format("{} nodes of the topology are hidden: {}", unreadable, reason));
  }
  if (damaged > 0) {
    topology.warnings.push_back(
        fmt::format("the topology of {} GPUs could not be read in full", damaged));
  }
  return topology;
}

}  // namespace gp::discover
