#include "discover/text.h"

#include <charconv>

namespace gp::discover {
namespace {

std::optional<u64> take_number(std::string_view& text, int base) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<u64> take_decimal(std::string_view& text) { return take_number(text, 10); }

std::optional<u64> take_hex(std::string_view& text) {
  std::string_view rest = text;
  skip(rest, "0x");
  const auto value = take_number(rest, 16);
  if (value) {
    text = rest;
  }
  return value;
}

std::optional<u64> decimal(std::string_view text) {
  text = trim(text);
  const auto value = take_decimal(text);
  return text.empty() ? value : std::nullopt;
}

std::optional<u64> hex(std::string_view text) {
  text = trim(text);
  const auto value = take_hex(text);
  return text.empty() ? value : std::nullopt;
}

}  // namespace gp::discover
