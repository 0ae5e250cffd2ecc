// Text and tables within HTML. On a narrow screen each row of a table becomes a card, its cells
// labelled by their column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gp::report {

// For the content of elements and for attribute values in double or single quotes. Control
// characters that HTML forbids, and bytes that are no UTF-8, become U+FFFD.
std::string escape(std::string_view text);

struct Cell {
  std::string markup;   // HTML, escaped by whoever made it
  std::string classes;  // "good", "bad", "muted"; "words" for sentences
};

// Text, escaped.
Cell cell(const std::string& text, const std::string& classes = "");

// The same; greyed if it is what numbers.h writes for the unknown.
Cell number_cell(const std::string& text);

class Table {
 public:
  // `columns`: the first is the name of the row, the others are numbers unless `wordy`.
  explicit Table(std::vector<std::string> columns, bool wordy = false);
  Table& row(std::vector<Cell> cells, const std::string& classes = "");
  // A row that names those below it.
  Table& group(const std::string& name);
  // A row whose cells from the second on are one remark.
  Table& remark(const Cell& name, const std::string& text);
  std::string finish() const;

 private:
  std::vector<std::string> columns_;
  bool wordy_;
  std::string rows_;
};

}  // namespace gp::report
