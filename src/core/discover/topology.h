// sysfs topology: the GPUs of this machine, /sys/class/kfd/kfd/topology/nodes/N.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "discover/discover.h"
#include "os/os.h"

namespace gp::discover {

// A node's `properties`: lines of "name value", in an order and number that change with the kernel
// (kfd_topology.c:453-555). What is missing or is not a number stays empty.
struct NodeProperties {
  std::optional<u64> simd_count;  // of the whole node, not of one XCC
  std::optional<u64> simd_per_cu;
  std::optional<u64> gfx_target_version;
  std::optional<u64> location_id;  // PCI bus << 8 | device << 3 | function
  std::optional<u64> domain;       // PCI
  std::optional<u64> drm_render_minor;
  std::optional<u64> num_sdma_engines;
  std::optional<u64> num_sdma_xgmi_engines;
  std::optional<u64> num_sdma_queues_per_engine;
  std::optional<u64> num_cp_queues;  // slots for compute queues; a queue takes one on every XCC
  std::optional<u64> cwsr_size;      // of one XCC; with the control stack
  std::optional<u64> ctl_stack_size;
  std::optional<u64> capability;
  std::optional<u64> num_xcc;
  u32 damaged_lines = 0;
};
NodeProperties parse_properties(std::string_view text);

struct TopologyNode {
  Node node;
  std::string pci_address;        // "0001:01:00.0"; empty if unknown
  std::optional<u32> sdma_slots;  // of all its engines
};
struct Topology {
  std::vector<TopologyNode> nodes;  // GPUs only
  std::vector<std::string> warnings;
};
// Fails only if there is no topology at all.
Result<Topology> read_topology(Os& os, const std::string& sysfs);

}  // namespace gp::discover
