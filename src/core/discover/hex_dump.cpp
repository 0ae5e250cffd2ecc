#include "discover/hex_dump.h"

namespace gp::discover {
namespace {

constexpr std::size_t kDigits = 8;
constexpr u8 kNoDigit = 0xff;

constexpr std::array<u8, 256> make_digits() {
  std::array<u8, 256> table{};
  for (u8& value : table) {
    value = kNoDigit;
  }
  for (u8 i = 0; i < 10; ++i) {
    table['0' + i] = i;
  }
  for (u8 i = 0; i < 6; ++i) {
    table['a' + i] = table['A' + i] = static_cast<u8>(10 + i);
  }
  return table;
}
constexpr std::array<u8, 256> kDigitOf = make_digits();

// Eight hex digits at `at`, which must lie within `line`.
bool read_dword(std::string_view line, std::size_t at, u32& value) {
  u32 number = 0;
  u8 seen = 0;
  for (std::size_t i = 0; i < kDigits; ++i) {
    const u8 digit = kDigitOf[static_cast<u8>(line[at + i])];
    seen |= digit;  // only kNoDigit has the upper bits
    number = number << 4 | (digit & 0xf);
  }
  value = number;
  return seen < 0x10;
}

std::size_t indent_of(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? line.size() : first;
}

}  // namespace

std::optional<DumpLine> parse_dump_line(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  std::size_t at = indent_of(line);
  DumpLine result;
  if (line.size() < at + kDigits + 1 || !read_dword(line, at, result.address) ||
      line[at + kDigits] != ':') {
    return std::nullopt;
  }
  at += kDigits + 1;
  while (at < line.size()) {
    if (result.count == DumpLine::kLongest || line.size() < at + 1 + kDigits || line[at] != ' ' ||
        !read_dword(line, at + 1, result.dwords[result.count])) {
      return std::nullopt;
    }
    ++result.count;
    at += 1 + kDigits;
  }
  return result.count > 0 ? std::optional(result) : std::nullopt;
}

std::optional<u32> full_line_address(std::string_view line) {
  constexpr std::size_t kIndent = 4;
  constexpr std::size_t kLength = kIndent + kDigits + 1 + DumpLine::kLongest * (1 + kDigits);
  u32 address = 0;
  if (line.size() != kLength || !line.starts_with("    ") || !read_dword(line, kIndent, address) ||
      line[kIndent + kDigits] != ':') {
    return std::nullopt;
  }
  return address;
}

bool resembles_dump_line(std::string_view line) {
  constexpr std::size_t kIndents[] = {2, 4};  // of rls; of mqds and hqds
  for (const std::size_t indent : kIndents) {
    if (indent_of(line) != indent || line.size() <= indent + kDigits ||
        line[indent + kDigits] != ':') {
      continue;
    }
    std::size_t digits = 0;
    for (const char c : line.substr(indent, kDigits)) {
      digits += kDigitOf[static_cast<u8>(c)] != kNoDigit;
    }
    return digits >= kDigits / 2;  // "priority" is no address
  }
  return false;
}

}  // namespace gp::discover
