// Tables for a terminal of 100 columns.
#pragma once

#include <string>
#include <vector>

namespace gp {

constexpr std::size_t kTableWidth = 100;

struct Column {
  const char* title;
  bool right = false;  // numbers
};
using Row = std::vector<std::string>;

// Columns as wide as their widest cell; the last one, if it is text, is cut so that a line is at
// most `width` wide.
// Control characters, which a process can put into its own name, are shown as '?'.
std::string layout(const std::vector<Column>& columns, const std::vector<Row>& rows,
                   std::size_t width = kTableWidth);

// At most `width` bytes, "..." at the end if it was longer; never half a UTF-8 character.
std::string shorten(std::string text, std::size_t width);

std::string printable(std::string text);

}  // namespace gp
