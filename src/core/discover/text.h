// Reading text that may be cut off, damaged or of another version: every step either succeeds or
// says so, and nothing outside the view is touched.
#pragma once

#include <limits>
#include <optional>
#include <string_view>

#include "libc/types.h"

namespace gp::discover {

// Goes through the lines of a text. A last line without its newline may be half a line: it is not
// given out, and cut() is true then.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // The next line without its newline; empty optional at the end.
  std::optional<std::string_view> next() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  bool cut() const { return !rest_.empty(); }

 private:
  std::string_view rest_;
};

// Gives each whole line to `take`; false if the last one was cut.
template <class Take>
bool each_line(std::string_view text, Take take) {
  Lines lines(text);
  while (const auto line = lines.next()) {
    take(*line);
  }
  return !lines.cut();
}

std::string_view trim(std::string_view text);

// If `text` begins with `prefix`, removes it.
bool skip(std::string_view& text, std::string_view prefix);

// A number at the beginning of `text`, which loses it. Empty if there is none or it does not fit.
std::optional<u64> take_decimal(std::string_view& text);
std::optional<u64> take_hex(std::string_view& text);  // with or without 0x

// The whole text is one number, with no more than white space around it.
std::optional<u64> decimal(std::string_view text);
std::optional<u64> hex(std::string_view text);

template <class T>
std::optional<T> narrow(std::optional<u64> value) {
  if (!value || *value > static_cast<u64>(std::numeric_limits<T>::max())) {
    return std::nullopt;
  }
  return static_cast<T>(*value);
}

}  // namespace gp::discover
