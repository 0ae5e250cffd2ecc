// Any bytes as debugfs mqds: parsed without harm, and what comes out is within its bounds.
#include "discover/mqds.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gp::discover;
  const Mqds mqds = parse_mqds({reinterpret_cast<const char*>(data), size});
  for (const MqdQueue& queue : mqds.queues) {
    fuzz::require(queue.gpu_id || !queue.pci_address.empty(), "a queue on no GPU");
    for (const auto& instance : queue.instances) {
      fuzz::require(!instance || instance->priority.value_or(0) <= 15, "priority out of range");
    }
  }
  return 0;
}
