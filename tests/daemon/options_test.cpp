// The command line of gpreemptd.
#include "daemon/options.h"

#include <gtest/gtest.h>

#include <vector>

namespace gp::daemon {
namespace {

Options parse(std::vector<const char*> words) {
  words.insert(words.begin(), "gpreemptd");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(DaemonOptions, SayWhereAndHowLoud) {
  const Options options =
      parse({"--config", "my.toml", "--socket=/tmp/gp.sock", "--log", "warning"});
  EXPECT_FALSE(options.exit_code);
  EXPECT_EQ(options.config, "my.toml");
  EXPECT_EQ(options.socket, "/tmp/gp.sock");
  EXPECT_EQ(options.log_level, LogLevel::warning);
}

TEST(DaemonOptions, HaveDefaults) {
  const Options options = parse({});
  EXPECT_FALSE(options.exit_code);
  EXPECT_TRUE(options.socket.ends_with("gpreemptd.sock")) << options.socket;
  EXPECT_EQ(options.log_level, LogLevel::info);
}

TEST(DaemonOptions, ThatAreWrongEndTheProgramWithUsage) {
  EXPECT_EQ(parse({"--log", "loud"}).exit_code, 2);
  EXPECT_EQ(parse({"--socket"}).exit_code, 2);
  EXPECT_EQ(parse({"--no-such"}).exit_code, 2);
  EXPECT_EQ(parse({"word"}).exit_code, 2);
  EXPECT_EQ(parse({"--help"}).exit_code, 0);
}

}  // namespace
}  // namespace gp::daemon
