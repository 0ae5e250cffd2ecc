// `gpreempt report` and `gpreempt trace` as a user meets them, on a machine without a daemon.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "report/report.h"
#include "report/results_support.h"
#include "server/server_support.h"
#include "support/temporary_directory.h"

namespace gp::report {
namespace {

using vgpu::server::Outcome;
using vgpu::server::Words;

Outcome gpreempt(Words words) {
  words.insert(words.begin(), GPREEMPT_BIN_DIR "/gpreempt");
  return vgpu::server::run(words);
}

class Command : public testing::Test {
 protected:
  const TemporaryDirectory temporary_;
  const std::string directory = temporary_.path();
};

TEST_F(Command, ReportWritesThePageBesideTheResultsAndSaysWhere) {
  ASSERT_TRUE(write_results(demo_results(), directory));
  const Outcome outcome = gpreempt({"report", directory});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, directory + "/report.html\n4 of 6 criteria met\n");
  EXPECT_TRUE(read_file(directory + "/report.html")->starts_with("<!DOCTYPE html>"));
}

TEST_F(Command, ReportWritesThePageWhereItIsTold) {
  ASSERT_TRUE(write_results(demo_results(), directory));
  EXPECT_EQ(gpreempt({"report", directory, "--output", directory + "/page.html"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(directory + "/page.html"));
  EXPECT_FALSE(std::filesystem::exists(directory + "/report.html"));
}

TEST_F(Command, ReportDrawsAPictureForTheReadme) {
  ASSERT_TRUE(write_results(demo_results(), directory));
  const Outcome outcome = gpreempt({"report", directory, "--picture", directory + "/a.svg"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(read_file(directory + "/a.svg")->starts_with("<svg "));
}

TEST_F(Command, ReportHasNoPictureOfResultsWithoutLatencies) {
  Results results = demo_results();
  results.phases.clear();
  ASSERT_TRUE(write_results(results, directory));
  const Outcome outcome = gpreempt({"report", directory, "--picture", directory + "/a.svg"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("no latencies"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(directory + "/a.svg"));
}

TEST_F(Command, ReportWithoutResultsSaysWhatMakesThem) {
  const Outcome outcome = gpreempt({"report", directory});
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.err.find("results.json"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("gpreempt demo"), std::string::npos) << outcome.err;
}

TEST_F(Command, ReportOfADamagedFileNamesThePlaceAndWritesNothing) {
  std::ofstream(directory + "/results.json") << R"({"schema_version": 1, "environment": 5})";
  const Outcome outcome = gpreempt({"report", directory});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("environment is not an object"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(directory + "/report.html"));
}

TEST_F(Command, TraceWithoutADaemonSaysSo) {
  const Outcome outcome = gpreempt({"trace", "--socket", directory + "/none"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("gpreemptd is not running"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists("gpreempt.pftrace"));
}

}  // namespace
}  // namespace gp::report
