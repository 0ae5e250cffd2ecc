#include "bench/driver_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "support/temporary_directory.h"

namespace gp::bench {
namespace {

TEST(DriverLog, OfTheKernelWarningsAboutTheGpuCount) {
  EXPECT_TRUE(is_complaint_of_kernel(
      "3,1234,5678,-;amdgpu 0000:05:00.0: amdgpu: Queue preemption failed for queue 1\n"));
  EXPECT_TRUE(is_complaint_of_kernel("4,1,2,-;kfd kfd: amdgpu: HIQ MQD's not reset\n"));
  EXPECT_TRUE(is_complaint_of_kernel("12,1,2,-;amdgpu: of another facility, a warning\n"));
  EXPECT_FALSE(is_complaint_of_kernel("6,1,2,-;amdgpu: information\n"));
  EXPECT_FALSE(is_complaint_of_kernel("3,1,2,-;usb 1-1: device not accepting address\n"));
  EXPECT_FALSE(is_complaint_of_kernel("6,1,2,-;other\n SUBSYSTEM=amdgpu\n"));
  EXPECT_FALSE(is_complaint_of_kernel(""));
  EXPECT_FALSE(is_complaint_of_kernel("amdgpu"));
}

TEST(DriverLog, OfAVirtualGpuWhatCameSinceItWasOpened) {
  const TemporaryDirectory temporary;
  const std::string& folder = temporary.path();
  ::setenv("GPREEMPT_VGPU_DIR", folder.c_str(), 1);
  EXPECT_FALSE(DriverLog::open());  // there is none
  const std::string line = "10:00:00.000001 warning: before\n";
  std::ofstream(folder + "/log") << line;
  Result<DriverLog> log = DriverLog::open();
  ASSERT_TRUE(log);
  EXPECT_TRUE(log->complaints()->empty());
  std::ofstream(folder + "/log", std::ios::app)
      << "10:00:00.000002 info: no error\n10:00:00.000003 error: after\n"
      << "10:00:00.000004 warning: and this";
  EXPECT_EQ(*log->complaints(), (std::vector<std::string>{"10:00:00.000003 error: after",
                                                          "10:00:00.000004 warning: and this"}));
  ::unsetenv("GPREEMPT_VGPU_DIR");
}

}  // namespace
}  // namespace gp::bench
