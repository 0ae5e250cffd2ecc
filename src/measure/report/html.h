// HTML tables. On a narrow screen each row becomes a card, its cells labelled by their column.
#pragma once

#include <string>
#include <vector>

namespace gp::report {

struct Cell {
  std::string markup;   // HTML, escaped by whoever made it
  std::string classes;  // "good", "bad", "muted"; "words" for sentences
};

// Text, escaped.
Cell cell(const std::string& text, const std::string& classes = "");

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
