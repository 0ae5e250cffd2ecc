// Any bytes as debugfs rls: parsed without harm; a run list is empty or has queues, not both.
#include "discover/rls.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gp::discover;
  const Rls rls = parse_rls({reinterpret_cast<const char*>(data), size});
  for (const RunList& list : rls.nodes) {
    fuzz::require(!list.is_whole || !list.none || list.queues.empty(), "queues in no run list");
  }
  return 0;
}
