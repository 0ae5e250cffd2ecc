// The tables of mechanisms in the documentation are that of model/mechanism.h.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "model/mechanism.h"

namespace gp {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(GPREEMPT_SOURCE_DIR "/" + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

// The rows below the header of a Markdown table that begins like this, up to its end.
std::vector<std::string> rows_below(const std::vector<std::string>& lines,
                                    const std::string& head) {
  std::vector<std::string> rows;
  bool inside = false;
  for (const std::string& line : lines) {
    inside = line.starts_with(head) || (inside && line.starts_with("|"));
    if (inside && line.starts_with("| `")) {
      rows.push_back(line);
    }
  }
  return rows;
}

TEST(MechanismTable, OfTheReadmeHasAllInTheirOrderWithLevelAndPlace) {
  const auto rows = rows_below(lines_of("README.md"), "| mechanism | level | runs |");
  ASSERT_EQ(rows.size(), kMechanismCount);
  for (u32 i = 0; i < kMechanismCount; i++) {
    const MechanismInfo& info = kMechanisms[i];
    std::ostringstream start;
    start << "| `" << info.name << "` | " << info.level << " | "
          << (info.place == Place::inside ? "inside" : "outside") << " |";
    EXPECT_TRUE(rows[i].starts_with(start.str())) << rows[i] << "\ninstead of " << start.str();
    EXPECT_EQ(rows[i].find("only when named") == std::string::npos, info.by_default) << rows[i];
  }
}

TEST(MechanismTable, OfTheManualsNamesAll) {
  for (const char* page : {"man/gpreempt.1", "man/gpreemptd.8"}) {
    std::string text;
    for (const std::string& line : lines_of(page)) {
      text += line + "\n";
    }
    for (const MechanismInfo& info : kMechanisms) {
      std::string name = info.name;
      if (const auto dash = name.find('-'); dash != std::string::npos) {
        name.insert(dash, "\\");
      }
      EXPECT_NE(text.find(name), std::string::npos) << page << " does not name " << info.name;
    }
  }
}

}  // namespace
}  // namespace gp
