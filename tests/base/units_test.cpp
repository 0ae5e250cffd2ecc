#include "base/units.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace gp {
namespace {

TEST(ParseSize, TakesBytesAndPowersOf1024) {
  EXPECT_EQ(*parse_size("0"), 0u);
  EXPECT_EQ(*parse_size("4096"), 4096u);
  EXPECT_EQ(*parse_size("64K"), u64{64} << 10);
  EXPECT_EQ(*parse_size("512m"), u64{512} << 20);
  EXPECT_EQ(*parse_size("4G"), u64{4} << 30);
  EXPECT_EQ(*parse_size("4GiB"), u64{4} << 30);
  EXPECT_EQ(*parse_size("2TB"), u64{2} << 40);
}

TEST(ParseSize, RefusesWhatIsNotASize) {
  for (const char* text : {"", "G", "4X", "-1", "4 G", "4GG", "1.5G", "0x10", "4Gi"}) {
    Result<u64> size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code, EINVAL) << text;
    EXPECT_NE(size.error().hint, "") << text;
  }
}

TEST(ParseSize, RefusesWhatDoesNotFit) {
  EXPECT_EQ(parse_size("99999999999999999999").error().code, ERANGE);
  EXPECT_EQ(parse_size("16777216T").error().code, ERANGE);
  EXPECT_EQ(*parse_size("16777215T"), u64{16777215} << 40);
}

TEST(ParseDuration, NeedsAUnit) {
  EXPECT_EQ(*parse_duration_ns("5s"), 5'000'000'000u);
  EXPECT_EQ(*parse_duration_ns("20ms"), 20'000'000u);
  EXPECT_EQ(*parse_duration_ns("0.02s"), 20'000'000u);
  EXPECT_EQ(*parse_duration_ns("1.5us"), 1500u);
  EXPECT_EQ(*parse_duration_ns("7ns"), 7u);
  EXPECT_EQ(*parse_duration_ns("2min"), 120'000'000'000u);
  EXPECT_EQ(*parse_duration_ns("1h"), 3'600'000'000'000u);
  EXPECT_EQ(*parse_duration_ns("0s"), 0u);
  for (const char* text : {"", "5", "s", "5d", "-5s", "nans", "infs", "5 s", "5sec"}) {
    ASSERT_FALSE(parse_duration_ns(text)) << text;
    EXPECT_EQ(parse_duration_ns(text).error().code, EINVAL) << text;
  }
  EXPECT_EQ(parse_duration_ns("99999999999999s").error().code, ERANGE);
}

TEST(ParseNumber, KeepsToItsBounds) {
  EXPECT_EQ(*parse_number("1", 1, 8), 1u);
  EXPECT_EQ(*parse_number("0x8", 1, 8), 8u);
  EXPECT_EQ(parse_number("0", 1, 8).error().code, ERANGE);
  EXPECT_EQ(parse_number("9", 1, 8).error().code, ERANGE);
  EXPECT_EQ(parse_number("", 1, 8).error().code, EINVAL);
  EXPECT_EQ(parse_number("3x", 1, 8).error().code, EINVAL);
  EXPECT_EQ(parse_number("-3", 1, 8).error().code, EINVAL);
}

TEST(FormatSize, IsShort) {
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(312), "312");
  EXPECT_EQ(format_size(u64{4} << 30), "4G");
  EXPECT_EQ(format_size((u64{3} << 20) / 2), "1.5M");
}

}  // namespace
}  // namespace gp
