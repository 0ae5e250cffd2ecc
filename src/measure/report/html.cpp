#include "report/html.h"

#include <fmt/format.h>

#include "libc/types.h"
#include "report/numbers.h"

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

Cell cell(const std::string& text, const std::string& classes) { return {escape(text), classes}; }

Cell number_cell(const std::string& text) { return cell(text, text == kUnknown ? "muted" : ""); }

Table::Table(std::vector<std::string> columns, bool wordy)
    : columns_(std::move(columns)), wordy_(wordy) {}

Table& Table::row(std::vector<Cell> cells, const std::string& classes) {
  rows_ += fmt::format("<tr class=\"{}\"><th scope=\"row\" class=\"{}\">{}</th>", classes,
                       cells.at(0).classes, cells.at(0).markup);
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (cells[i].markup.empty()) {
      rows_ += "<td class=\"empty\"></td>";
      continue;
    }
    rows_ += fmt::format("<td class=\"{}\" data-label=\"{}\"><span>{}</span></td>",
                         cells[i].classes, escape(columns_.at(i)), cells[i].markup);
  }
  rows_ += "</tr>\n";
  return *this;
}

Table& Table::group(const std::string& name) {
  rows_ += fmt::format("<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                       columns_.size(), escape(name));
  return *this;
}

Table& Table::remark(const Cell& name, const std::string& text) {
  rows_ += fmt::format(
      "<tr class=\"remark\"><th scope=\"row\" class=\"{}\">{}</th>"
      "<td colspan=\"{}\">{}</td></tr>\n",
      name.classes, name.markup, columns_.size() - 1, escape(text));
  return *this;
}

std::string Table::finish() const {
  std::string head;
  for (const std::string& column : columns_) {
    head += fmt::format("<th scope=\"col\">{}</th>", escape(column));
  }
  return fmt::format(
      "<div class=\"wide\"><table class=\"{}\">\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n"
      "</table></div>\n",
      wordy_ ? "wordy" : "numbers", head, rows_);
}

}  // namespace gp::report
