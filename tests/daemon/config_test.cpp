#include "config/config.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

namespace gp::config {
namespace {

std::string error_of(std::string_view text) {
  const auto config = parse(text, "gpreemptd.toml");
  return config ? "no error" : config.error().what;
}

TEST(Config, MayBeEmpty) {
  const auto config = parse("", "gpreemptd.toml");
  ASSERT_TRUE(config);
  EXPECT_STREQ(config->settings.policy->name, "strict");
  EXPECT_EQ(config->settings.lease_ns, 2'000'000'000U);
  EXPECT_FALSE(config->settings.read_rings);
}

TEST(Config, SetsWhatItSays) {
  const auto config = parse(R"(
policy = "share"
mechanisms = ["debugger", "criu"]
lease = "500ms"
read_rings = true
read_rings_every = "2ms"
socket_mode = "0660"
socket_group = "root"
[parameters]
linger_max = "1.5ms"
share = 0.25
stop_normal = true
[classes]
online_from = 12
[[classes.rule]]
command = "train.py"
class = "offline"
[[grant]]
uid = 1000
preempt_others = true
)",
                            "gpreemptd.toml");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_STREQ(config->settings.policy->name, "share");
  EXPECT_TRUE(config->settings.mechanisms.has(Mechanism::criu));
  EXPECT_FALSE(config->settings.mechanisms.has(Mechanism::self_debug));
  EXPECT_EQ(config->settings.lease_ns, 500'000'000U);
  EXPECT_TRUE(config->settings.read_rings);
  EXPECT_EQ(config->read_rings_every_ns, 2'000'000U);
  EXPECT_EQ(config->socket_access.mode, 0660U);
  EXPECT_EQ(config->socket_access.group, 0U);
  EXPECT_EQ(config->settings.parameters.linger_max_ns, 1'500'000U);
  EXPECT_EQ(config->settings.parameters.share, 0.25);
  EXPECT_TRUE(config->settings.parameters.stop_normal);
  EXPECT_EQ(config->classes.online_from, 12U);
  ASSERT_EQ(config->classes.rules.size(), 1U);
  EXPECT_EQ(config->classes.rules[0].command, "train.py");
  ASSERT_EQ(config->grants.size(), 1U);
  EXPECT_TRUE(config->grants[0].preempt_others);
}

TEST(Config, SaysWhereItIsWrong) {
  EXPECT_EQ(error_of("policy = \"fair\""),
            "gpreemptd.toml:1:10: there is no policy 'fair'; there are: strict, share, priority, "
            "slo");
  EXPECT_EQ(error_of("\n[parameters]\n  share = 2\n"),
            "gpreemptd.toml:3:11: 2 is out of range: 0 to 0.9");
  EXPECT_EQ(error_of("lease = 2"), "gpreemptd.toml:1:9: a text in quotation marks is expected");
  EXPECT_EQ(error_of("lease = \"2\""),
            "gpreemptd.toml:1:9: '2' is no duration; write \"20ms\" or \"1.5s\"");
  EXPECT_EQ(error_of("mechanisms = [\"debugger\",\n \"magic\"]"),
            "gpreemptd.toml:2:2: there is no mechanism 'magic'");
  EXPECT_TRUE(error_of("[[grant]]\npreempt_others = true").starts_with("gpreemptd.toml:1:"));
}

TEST(Config, RefusesUnknownKeys) {
  const std::string error = error_of("[parameters]\nlinger_mx = \"1ms\"");
  EXPECT_TRUE(error.starts_with("gpreemptd.toml:2:13: unknown key 'linger_mx'; known here: "))
      << error;
}

TEST(Config, RefusesWhatIsNoToml) {
  EXPECT_TRUE(error_of("policy = ").starts_with("gpreemptd.toml:1:"));
}

TEST(Config, ThatIsShippedIsTheDefault) {
  const auto shipped = load(GPREEMPT_SOURCE_DIR "/packaging/gpreemptd.toml");
  ASSERT_TRUE(shipped) << shipped.error().message();
  const Config defaults;
  EXPECT_EQ(shipped->settings.policy, defaults.settings.policy);
  EXPECT_EQ(shipped->settings.mechanisms, defaults.settings.mechanisms);
  EXPECT_EQ(shipped->settings.lease_ns, defaults.settings.lease_ns);
  EXPECT_EQ(shipped->settings.parameters.linger_max_ns, defaults.settings.parameters.linger_max_ns);
  EXPECT_EQ(shipped->settings.parameters.share, defaults.settings.parameters.share);
  EXPECT_EQ(shipped->settings.parameters.max_stop_ns, defaults.settings.parameters.max_stop_ns);
}

TEST(Config, HasEveryParameterInTheManual) {
  std::ifstream file(GPREEMPT_SOURCE_DIR "/man/gpreemptd.8");
  const std::string manual((std::istreambuf_iterator<char>(file)), {});
  for (const policy::ParameterInfo& info : policy::parameter_table()) {
    EXPECT_NE(manual.find(info.name), std::string::npos) << info.name;
  }
}

TEST(Config, NamesAFileThatIsNotThere) {
  const auto config = load("/nonexistent/gpreemptd.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ENOENT);
}

TEST(Config, ReservesNoSlotsUnlessToldTo) {
  EXPECT_FALSE(parse("", "gpreemptd.toml")->reservation.is_wanted());
  const auto by_number = parse("[reserve]\nslots = 4\n", "gpreemptd.toml");
  ASSERT_TRUE(by_number);
  EXPECT_EQ(by_number->reservation.slots, 4u);
  const auto by_share =
      parse("[reserve]\nonline_percent = 10\noffline_percent = 80\n", "gpreemptd.toml");
  ASSERT_TRUE(by_share);
  EXPECT_TRUE(by_share->reservation.is_wanted());
  EXPECT_EQ(by_share->reservation.online_percent, 10u);
  EXPECT_EQ(by_share->reservation.offline_percent, 80u);
}

TEST(Config, RefusesReservationsThatContradictThemselves) {
  EXPECT_NE(error_of("[reserve]\nslots = 4\nonline_percent = 10\n").find("not both"),
            std::string::npos);
  EXPECT_NE(error_of("[reserve]\nonline_percent = 60\noffline_percent = 60\n").find("100"),
            std::string::npos);
  EXPECT_NE(error_of("[reserve]\nslots = 2000\n").find("out of range"), std::string::npos);
}

}  // namespace
}  // namespace gp::config
