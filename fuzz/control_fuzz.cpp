// Any messages of a client: the first byte says whether their headers are made right.
#include "daemon_parts.h"
#include "messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* parts = new fuzz::DaemonParts;
  if (size == 0) {
    return 0;
  }
  auto messages = fuzz::messages_of({data + 1, size - 1});
  for (auto& message : messages) {
    if (data[0] % 2 == 0) {
      fuzz::complete(message, gp::wire::Kind::status, gp::wire::Kind::trace);
    }
  }
  parts->converse(messages);
  return 0;
}
