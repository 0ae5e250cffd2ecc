// Tables for people.
#include "base/text_table.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(TextTable, ControlCharactersOfAProcessNameAreHarmless) {
  const std::string table = layout({{"NAME"}}, {{"\033[2Jevil\n"}});
  EXPECT_EQ(table, "NAME\n?[2Jevil?\n");
}

TEST(TextTable, CutsBetweenCharacters) {
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten("abcdefg", 6), "abc...");
  EXPECT_EQ(shorten("ab\xc3\xa4xyz", 6), "ab...");
}

TEST(TextTable, NumbersStandAtTheRightAndTheLastTextIsCutToTheWidth) {
  EXPECT_EQ(layout({{"N", true}, {"COMMAND"}}, {{"1", "a long command line"}, {"22", "sh"}}, 16),
            " N  COMMAND\n"
            " 1  a long co...\n"
            "22  sh\n");
  EXPECT_EQ(layout({{"NAME"}, {"BYTES", true}}, {{"a", "7"}}, 8),
            "NAME  BYTES\n"
            "a         7\n")
      << "numbers are never cut";
}

}  // namespace
}  // namespace gp
