// The trace for Perfetto, decoded by protobuf's own compiler.
#include "report/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "report/report.h"
#include "report/trace_support.h"

namespace gp::report {
namespace {

TraceSlices slices(const std::string& trace) { return slices_of(*parse_trace(trace)); }

// What `protoc --decode_raw` says of the message: fields by number, messages in braces.
std::string decoded(const std::string& message) {
  char path[] = "/tmp/gpreempt-perfetto-XXXXXX";
  const int fd = ::mkstemp(path);
  EXPECT_GE(fd, 0);
  ::close(fd);
  EXPECT_TRUE(write_file(path, message));
  std::string text;
  std::FILE* pipe = ::popen(fmt::format("protoc --decode_raw < {} 2>&1", path).c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    text += c == '\n' || c == ' ' ? (text.ends_with(' ') ? '\0' : ' ') : static_cast<char>(c);
    if (text.ends_with('\0')) {
      text.pop_back();
    }
  }
  EXPECT_EQ(::pclose(pipe), 0) << text;
  std::filesystem::remove(path);
  return text;
}

class Perfetto : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("protoc --version > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "protoc (package protobuf-compiler) is not installed";
    }
  }
};

TEST_F(Perfetto, AJobHasATrackWithItsClassAndName) {
  const std::string text =
      decoded(perfetto_trace(slices(one_preemption()), {{1, "resnet"}}, {1000, 2000}));
  EXPECT_NE(text.find("60 { 1: 8 2: \"offline: resnet (job 1)\" 5: 1 12: 1 }"), std::string::npos)
      << text;
  EXPECT_NE(text.find("60 { 1: 12 2: \"online: job 2\" 5: 1 12: 2 }"), std::string::npos) << text;
  EXPECT_NE(text.find("60 { 1: 1 2: \"gpreempt\" 11: 3 }"), std::string::npos) << text;
}

TEST_F(Perfetto, APreemptionIsASliceOfTheJobAndOneOfTheScheduler) {
  const std::string text = decoded(perfetto_trace(slices(one_preemption()), {}, {1000, 2000}));
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  // Stopped from 1300 to 6200 us, on the job's track (8).
  EXPECT_TRUE(
      has("8: 1300000 58: 3 11 { 9: 1 11: 8 22: \"job\" 23: \"stopped\" 4 { 10: \"job\" "
          "3: 1 } } 10: 1"))
      << text;
  EXPECT_TRUE(has("8: 6200000 58: 3 11 { 9: 2 11: 8 } 10: 1")) << text;
  // The stop, from the decision to the answer, on the scheduler's (9).
  EXPECT_TRUE(has("8: 1010000 58: 3 11 { 9: 1 11: 9 22: \"scheduler\" 23: \"stop job 1\"")) << text;
  EXPECT_TRUE(has("8: 1300000 58: 3 11 { 9: 2 11: 9 } 10: 1")) << text;
}

TEST_F(Perfetto, TheClockOfTheEventsIsTiedToTheOneThatIsShown) {
  const std::string text = decoded(perfetto_trace({}, {}, {123456789012, 223456789012}));
  EXPECT_NE(text.find("6 { 1 { 1: 3 2: 123456789012 } 1 { 1: 6 2: 223456789012 } 2: 6 }"),
            std::string::npos)
      << text;
}

TEST_F(Perfetto, AMomentIsAnInstant) {
  const std::string text =
      decoded(perfetto_trace(slices(event(0, 100, "lease_ended", "offline", 1, 11)), {}, {0, 0}));
  EXPECT_NE(text.find("8: 100000 58: 3 11 { 9: 3 11: 11 22: \"scheduler\" "
                      "23: \"lease ended job 1\""),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace gp::report
