#include "report/html.h"

#include "base/types.h"

namespace gp::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_continuation(char c) { return (static_cast<u8>(c) & 0xC0) == 0x80; }

// How many bytes the character at the start of `text` has; 0 if it is no UTF-8. RFC 3629, section
// 4: the first byte limits the second where a longer form, a surrogate or too high a number would
// be.
std::size_t length_of_character(std::string_view text) {
  const u8 first = static_cast<u8>(text[0]);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) {
      return 0;
    }
  }
  const u8 second = static_cast<u8>(text[1]);
  const bool allowed = first == 0xE0   ? second >= 0xA0
                       : first == 0xED ? second <= 0x9F
                       : first == 0xF0 ? second >= 0x90
                       : first == 0xF4 ? second <= 0x8F
                                       : true;
  return allowed ? length : 0;
}

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '&': out += "&amp;"; return;
    case '<': out += "&lt;"; return;
    case '>': out += "&gt;"; return;
    case '"': out += "&quot;"; return;
    case '\'': out += "&#39;"; return;
    case '\t':
    case '\n': out += c; return;
    default: break;
  }
  if (static_cast<u8>(c) < 0x20 || c == 0x7F) {
    out += kReplacement;
  } else {
    out += c;
  }
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    if (length == 0) {
      out += kReplacement;
    } else if (length == 1) {
      append_ascii(out, text[0]);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace gp::report
