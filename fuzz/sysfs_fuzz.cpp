// Any bytes as the properties of a topology node and as a queue's type.
#include "discover/process_queues.h"
#include "discover/topology.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gp::discover;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const NodeProperties properties = parse_properties(text);
  fuzz::require(!properties.num_xcc || text.find("num_xcc ") != std::string_view::npos,
                "a property out of nothing");
  queue_type_of(text);
  return 0;
}
