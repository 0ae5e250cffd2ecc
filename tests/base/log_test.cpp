#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/unique_fd.h"

namespace gp {
namespace {

class LogToAPipe : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_end_.reset(ends[0]);
    write_end_.reset(ends[1]);
    set_log_fd(ends[1]);
  }
  void TearDown() override { set_log_fd(STDERR_FILENO); }
  std::string content() const {
    char text[8192] = {};
    const ssize_t size = ::read(read_end_.get(), text, sizeof text);
    return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
  }

 private:
  UniqueFd read_end_, write_end_;
};

TEST_F(LogToAPipe, ThatNobodyReadsStopsNobody) {
  const std::string line(1000, 'x');
  for (int i = 0; i < 1000; ++i) {  // more than a pipe holds
    log_error("{}", line);
  }
  EXPECT_NE(content().find("error: xxx"), std::string::npos);
}

TEST_F(LogToAPipe, LinesAreWholeHoweverLong) {
  log_error("{}", std::string(100'000, 'y'));
  const std::string text = content();
  EXPECT_LE(text.size(), 4096U);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

}  // namespace
}  // namespace gp
