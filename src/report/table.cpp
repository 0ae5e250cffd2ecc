#include "report/table.h"

#include <fmt/format.h>

#include "report/html.h"

namespace gp::report {

Cell cell(const std::string& text, const std::string& classes) { return {escape(text), classes}; }

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
