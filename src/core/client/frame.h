// Messages of wire.h in memory: checks what has come, and writes text that is longer than a
// message.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "libc/types.h"
#include "wire/wire.h"

namespace gp::wire {

// The header, if it is one of ours and says how long the message is. Nothing else is believed.
inline std::optional<Header> header_of(std::span<const u8> message) {
  Header header;
  if (message.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, message.data(), sizeof header);
  const bool ours =
      header.magic == kMagic && header.version == kVersion && header.size == message.size();
  return ours ? std::optional<Header>(header) : std::nullopt;
}

// The version of a hello that would be one of ours were it not for that: magic, length and the
// number of this kind are the same in all versions.
inline std::optional<u16> other_version_of_hello(std::span<const u8> message) {
  Header header;
  if (message.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, message.data(), sizeof header);
  const bool other = header.magic == kMagic && header.version != kVersion &&
                     header.size == message.size() && header.kind == Kind::hello;
  return other ? std::optional<u16>(header.version) : std::nullopt;
}

// The message as a T; empty if it is not exactly as long as one.
template <class T>
std::optional<T> decode(std::span<const u8> message) {
  T value;
  if (message.size() != sizeof value) {
    return std::nullopt;
  }
  std::memcpy(static_cast<void*>(&value), message.data(), sizeof value);
  return value;
}

template <class T>
std::span<const u8> bytes_of(const T& message) {
  return {reinterpret_cast<const u8*>(&message), sizeof message};
}

// A field of characters up to its end or its first zero.
template <std::size_t N>
std::string_view text_of(const char (&field)[N]) {
  return {field, ::strnlen(field, N)};
}

template <std::size_t N>
void set_text(char (&field)[N], std::string_view text) {
  const std::size_t size = std::min(text.size(), N - 1);
  std::memcpy(field, text.data(), size);
  field[size] = '\0';
}

// A text is sent as any number of full `text` messages and one that is not full, perhaps empty.
constexpr std::size_t kTextPerMessage = kMaxMessage - sizeof(Header);
std::vector<u8> text_message(std::string_view part, u32 sequence);
std::vector<std::vector<u8>> text_messages(std::string_view text, u32 sequence);

}  // namespace gp::wire
