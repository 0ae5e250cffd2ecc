#include "base/units.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>

namespace gp {
namespace {

Error invalid(std::string_view text, std::string_view expected) {
  return Error{EINVAL, fmt::format("'{}' is not {}", text, expected), ""};
}

// The power of 1024 a suffix stands for, or -1.
int size_power(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") {
    return 0;
  }
  constexpr std::string_view letters = "KMGT";
  const char letter = suffix[0] >= 'a' ? static_cast<char>(suffix[0] - 'a' + 'A') : suffix[0];
  const std::size_t power = letters.find(letter);
  const std::string_view rest = suffix.substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "iB")) {
    return -1;
  }
  return static_cast<int>(power) + 1;
}

double nanoseconds_in(std::string_view unit) {
  if (unit == "ns")
    return 1;
  if (unit == "us")
    return 1e3;
  if (unit == "ms")
    return 1e6;
  if (unit == "s")
    return 1e9;
  if (unit == "min")
    return 60e9;
  if (unit == "h")
    return 3600e9;
  return 0;
}

struct Decimal {
  double number;
  std::size_t length;  // in characters; 0: there is none
};

// Not by std::from_chars, which libstdc++ has for doubles since g++ 11 only, nor by strtod, which
// obeys the locale of whatever program we are in.
Decimal decimal_at_start(std::string_view text) {
  double number = 0, divisor = 1;
  bool has_digits = false, has_point = false;
  std::size_t length = 0;
  for (; length < text.size(); ++length) {
    const char c = text[length];
    if (c >= '0' && c <= '9') {
      has_digits = true;
      number = number * 10 + (c - '0');
      divisor *= has_point ? 10 : 1;
    } else if (c == '.' && !has_point) {
      has_point = true;
    } else {
      break;
    }
  }
  return {number / divisor, has_digits ? length : 0};
}

}  // namespace

Result<u64> parse_size(std::string_view text) {
  u64 number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view suffix = text.substr(end - text.data());
  const int power = size_power(suffix);
  if (code == std::errc::invalid_argument || power < 0) {
    return invalid(text, "a size").with_hint("write bytes or use K, M, G, T, as in 4G");
  }
  const int shift = 10 * power;
  if (code == std::errc::result_out_of_range || number << shift >> shift != number) {
    return Error{ERANGE, fmt::format("size '{}'", text), ""};
  }
  return number << shift;
}

Result<u64> parse_duration_ns(std::string_view text) {
  const auto [number, length] = decimal_at_start(text);
  const double unit = nanoseconds_in(text.substr(length));
  if (length == 0 || unit == 0 || !std::isfinite(number)) {
    return invalid(text, "a duration")
        .with_hint("write a number and a unit, as in 20ms, 0.5s or 1h");
  }
  const double nanoseconds = std::round(number * unit);
  if (nanoseconds >= 0x1p63) {
    return Error{ERANGE, fmt::format("duration '{}'", text), ""};
  }
  return static_cast<u64>(nanoseconds);
}

Result<u64> parse_number(std::string_view text, u64 lowest, u64 highest) {
  const bool hex = text.starts_with("0x");
  const char* begin = text.data() + (hex ? 2 : 0);
  const char* last = text.data() + text.size();
  u64 number = 0;
  const auto [end, code] = std::from_chars(begin, last, number, hex ? 16 : 10);
  if (code == std::errc::invalid_argument || end != last) {
    return invalid(text, "a whole number");
  }
  if (code == std::errc::result_out_of_range || number < lowest || number > highest) {
    return Error{ERANGE, fmt::format("'{}'", text), ""}.with_hint(
        fmt::format("it must be between {} and {}", lowest, highest));
  }
  return number;
}

std::string format_size(u64 bytes) {
  constexpr const char* suffixes[] = {"", "K", "M", "G", "T"};
  double value = static_cast<double>(bytes);
  int power = 0;
  while (value >= 1024 && power < 4) {
    value /= 1024;
    ++power;
  }
  const bool whole = value == std::floor(value) || value >= 100;
  return fmt::format("{:.{}f}{}", value, whole ? 0 : 1, suffixes[power]);
}

}  // namespace gp
