#include "base/log.h"

#include <limits.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

namespace gp {
namespace {

std::atomic<int> log_fd{STDERR_FILENO};
std::atomic<LogLevel> lowest{LogLevel::info};

constexpr std::size_t kLongestLine = PIPE_BUF;

const char* name(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "?";
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  for (const LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
    if (text == name(level)) {
      return level;
    }
  }
  return Error{EINVAL, fmt::format("'{}' is not a log level", text),
               "debug, info, warning or error"};
}

void set_log_fd(int fd) { log_fd = fd; }
void set_log_level(LogLevel level) { lowest = level; }
bool log_enabled(LogLevel level) { return level >= lowest.load(std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view text) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  std::string line = fmt::format("{:02}:{:02}:{:02}.{:06} {}: {}\n", parts.tm_hour, parts.tm_min,
                                 parts.tm_sec, now.tv_nsec / 1000, name(level), text);
  // A log that cannot be written must not stop the program; there is nowhere to report it. A pipe
  // that can be written to takes a line of PIPE_BUF at once.
  if (line.size() > kLongestLine) {
    line.resize(kLongestLine - 1);
    line += '\n';
  }
  pollfd writable = {log_fd, POLLOUT, 0};
  if (::poll(&writable, 1, 0) == 0) {
    return;
  }
  [[maybe_unused]] ssize_t written = ::write(log_fd, line.data(), line.size());
}

}  // namespace gp
