#include "base/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace gp {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;  // what is left of the last column in a full table

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::vector<std::size_t> widths_of(const std::vector<Column>& columns,
                                   const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    widths.push_back(std::string(columns[i].title).size());
    for (const Row& row : rows) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  return widths;
}

}  // namespace

std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

std::string shorten(std::string text, std::size_t width) {
  if (text.size() <= width) {
    return text;
  }
  std::size_t end = width > 3 ? width - 3 : 0;
  while (end > 0 && continues_character(text[end])) {
    --end;
  }
  return text.substr(0, end) + "...";
}

std::string layout(const std::vector<Column>& columns, const std::vector<Row>& rows,
                   std::size_t width) {
  const std::vector<std::size_t> widths = widths_of(columns, rows);
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string cell = printable(cell_of(i));
      if (i > 0) {
        line.append(kGap, ' ');
      }
      if (i + 1 == columns.size() && !columns[i].right) {
        line += shorten(cell, std::max(kNarrowest, width - std::min(width, line.size())));
      } else {
        line += columns[i].right ? fmt::format("{:>{}}", cell, widths[i])
                                 : fmt::format("{:<{}}", cell, widths[i]);
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t i) { return std::string(columns[i].title); });
  for (const Row& row : rows) {
    add_line([&](std::size_t i) { return row[i]; });
  }
  return text;
}

}  // namespace gp
