// Bytes of a fuzzer as a conversation: messages, each behind two bytes of its length.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace fuzz {

inline std::vector<std::vector<std::uint8_t>> messages_of(std::span<const std::uint8_t> bytes) {
  std::vector<std::vector<std::uint8_t>> messages;
  while (bytes.size() > 2) {
    const std::size_t wanted = bytes[0] + std::size_t{256} * bytes[1];
    bytes = bytes.subspan(2);
    const std::size_t size = wanted < bytes.size() ? wanted : bytes.size();
    messages.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    bytes = bytes.subspan(size);
  }
  return messages;
}

}  // namespace fuzz
