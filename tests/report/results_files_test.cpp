// results.json in its directory.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "report/report.h"
#include "support/temporary_directory.h"

namespace gp::report {
namespace {

class ResultsFiles : public ::testing::Test {
 protected:
  const TemporaryDirectory temporary_;
  const std::string directory = temporary_.path();
};

TEST_F(ResultsFiles, TheDirectoryIsMadeAndHoldsNothingElse) {
  const std::string made = directory + "/a/b";
  Results results;
  results.environment.device = "virtual GPU";
  ASSERT_TRUE(write_results(results, made));
  ASSERT_TRUE(write_results(results, made)) << "a second time";
  const Result<Results> read = read_results(made);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->environment.device, "virtual GPU");
  const auto files = std::filesystem::directory_iterator(made);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(ResultsFiles, ADirectoryWithoutResultsIsToldWithWhatMakesThem) {
  const Result<Results> read = read_results(directory);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ENOENT);
  EXPECT_NE(read.error().what.find("results.json"), std::string::npos);
  EXPECT_NE(read.error().hint.find("gpreempt demo"), std::string::npos);
}

TEST_F(ResultsFiles, ADamagedFileIsNamed) {
  std::ofstream(directory + "/results.json") << "{\"schema_version\": 1}";
  const Result<Results> read = read_results(directory);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().what, directory + "/results.json: environment is missing");
}

TEST_F(ResultsFiles, WhereNothingCanBeWrittenTheErrorNamesThePlace) {
  std::ofstream(directory + "/file") << "";
  const Status written = write_results({}, directory + "/file");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().what.find(directory + "/file"), std::string::npos);
}

}  // namespace
}  // namespace gp::report
