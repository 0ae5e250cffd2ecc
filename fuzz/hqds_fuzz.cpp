// Any bytes as debugfs hqds: parsed without harm, and no more slots in use than there are.
#include "discover/hqds.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gp::discover;
  const Hqds hqds = parse_hqds({reinterpret_cast<const char*>(data), size});
  for (const HqdsNode& node : hqds.nodes) {
    if (node.compute_is_whole) {
      const std::uint64_t slots = std::uint64_t{node.compute_slots} * node.instances;
      fuzz::require(node.compute.size() <= slots, "more compute queues than slots");
    }
    fuzz::require(node.sdma.size() <= node.sdma_slots, "more SDMA queues than slots");
  }
  return 0;
}
