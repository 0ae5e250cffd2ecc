// The typed calls: what reaches the driver.
#include "kfd/calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace gp::kfd {
namespace {

// Keeps the last DBG_TRAP and answers with `result`.
struct Recorder {
  unsigned long request = 0;
  abi::DbgTrapArgs args = {};
  int result = 0;

  static int ioctl(void* context, int, unsigned long request, void* argument) {
    auto* self = static_cast<Recorder*>(context);
    self->request = request;
    self->args = *static_cast<const abi::DbgTrapArgs*>(argument);
    return self->result;
  }
  Channel channel() { return {-1, ioctl, this}; }
};

TEST(Calls, NeverPassAGraceThatWouldHangTheGpu) {
  Recorder driver;
  u32 id = 3;
  const std::vector<std::pair<u32, u32>> given_and_passed = {
      {0, 1},
      {1, 1},
      {255, 255},
      {256, 255},
      {1000, 255},
      {0xfffffffe, 255},
      {abi::kUseDefaultGracePeriod, abi::kUseDefaultGracePeriod},
  };
  for (const auto& [given, passed] : given_and_passed) {
    debug_suspend_queues(driver.channel(), 42, &id, 1, given);
    EXPECT_EQ(driver.args.suspend_queues.grace_period, passed) << given;
  }
  EXPECT_EQ(driver.request, 0xc0204b26u);
  EXPECT_EQ(driver.args.pid, 42u);
  EXPECT_EQ(driver.args.op, abi::dbg_suspend_queues);
}

TEST(Calls, ResumeAllIsANullArray) {
  Recorder driver;
  debug_resume_all(driver.channel(), 42);
  EXPECT_EQ(driver.args.op, abi::dbg_resume_queues);
  EXPECT_EQ(driver.args.resume_queues.queue_array_ptr, 0u);
  EXPECT_EQ(driver.args.resume_queues.num_queues, 0u);
}

TEST(Calls, ReturnWhatTheDriverReturns) {
  Recorder driver;
  driver.result = -EALREADY;
  abi::RuntimeInfo runtime;
  EXPECT_EQ(debug_enable(driver.channel(), 42, 0, 0, runtime), -EALREADY);
  driver.result = 5;
  u32 id = 0;
  EXPECT_EQ(debug_suspend_queues(driver.channel(), 42, &id, 1, 1), 5);
}

TEST(SystemIoctl, ReturnsTheErrorNegative) {
  EXPECT_EQ(system_ioctl(nullptr, -1, 0, nullptr), -EBADF);
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  Version version;
  EXPECT_EQ(get_version({fd}, version), -ENOTTY);
  ::close(fd);
}

}  // namespace
}  // namespace gp::kfd
