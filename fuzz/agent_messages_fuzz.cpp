// Any messages of an agent, a hello first: the first byte says whether their headers are made
// right. What clients say is mixed in, for stops to answer.
#include "daemon_parts.h"
#include "messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gp::wire;
  static auto* parts = new fuzz::DaemonParts;
  if (size == 0) {
    return 0;
  }
  std::vector<std::vector<std::uint8_t>> messages;
  if (data[0] % 2 == 0) {
    Hello hello;
    hello.abilities = data[0];
    hello.work_class = data[0] / 2 % 4;
    const auto bytes = bytes_of(hello);
    messages.emplace_back(bytes.begin(), bytes.end());
  }
  for (auto& message : fuzz::messages_of({data + 1, size - 1})) {
    if (data[0] % 4 < 2 && !message.empty()) {
      const bool by_client = message[0] % 4 == 3;
      fuzz::complete(message, by_client ? Kind::online_begin : Kind::hello,
                     by_client ? Kind::resume : Kind::refused);
    }
    messages.push_back(std::move(message));
  }
  parts->converse(messages);
  return 0;
}
