#include "client/frame.h"

namespace gp::wire {

std::vector<u8> text_message(std::string_view part, u32 sequence) {
  Header header{.kind = Kind::text, .sequence = sequence};
  header.size = static_cast<u32>(sizeof header + part.size());
  std::vector<u8> message(header.size);
  std::memcpy(message.data(), &header, sizeof header);
  std::memcpy(message.data() + sizeof header, part.data(), part.size());
  return message;
}

std::vector<std::vector<u8>> text_messages(std::string_view text, u32 sequence) {
  std::vector<std::vector<u8>> messages;
  bool full = true;
  while (full) {
    const std::string_view part = text.substr(0, kTextPerMessage);
    text.remove_prefix(part.size());
    full = part.size() == kTextPerMessage;
    messages.push_back(text_message(part, sequence));
  }
  return messages;
}

}  // namespace gp::wire
