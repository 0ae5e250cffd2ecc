// What programs return and say when they fail.
#include "base/exit_code.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/log.h"

namespace gp {
namespace {

TEST(ExitCode, IsThatOfTheKindOfError) {
  EXPECT_EQ(exit_code_of({EINVAL, "", ""}), exit_usage);
  EXPECT_EQ(exit_code_of({ENODEV, "", ""}), exit_no_device);
  EXPECT_EQ(exit_code_of({EACCES, "", ""}), exit_permission);
  EXPECT_EQ(exit_code_of({EOPNOTSUPP, "", ""}), exit_unsupported);
  EXPECT_EQ(exit_code_of({ETIMEDOUT, "", ""}), exit_timeout);
  EXPECT_EQ(exit_code_of({ENOENT, "", ""}), exit_failed) << "a file is not a device";
}

TEST(ExitCode, OfAProgramThatCannotBeStartedIsTheShells) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(report_not_started("nothing", ENOENT), 127);
  EXPECT_EQ(report_not_started("/etc/passwd", EACCES), 126);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "base_tests: nothing: No such file or directory\n"
            "base_tests: /etc/passwd: Permission denied\n");
}

TEST(ExitCode, AnErrorIsPrintedWithItsHint) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(report_error({ENODEV, "no GPU", "buy one"}), exit_no_device);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "base_tests: no GPU: No such device\nhint: buy one\n");
}

TEST(LogLevel, IsKnownByItsName) {
  EXPECT_EQ(*parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("loud").error().code, EINVAL);
}

}  // namespace
}  // namespace gp
