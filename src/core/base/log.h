// A process-wide log: one line per message, written with one write(2) so that lines of several
// threads or processes never interleave.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/result.h"

namespace gp {

enum class LogLevel { debug, info, warning, error };
// By its name; EINVAL, with those there are, if it is none.
Result<LogLevel> parse_log_level(std::string_view text);

// Where lines go (default: standard error) and which are dropped (default: below info).
void set_log_fd(int fd);
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) {
    log_line(level, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::debug, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warning, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::error, format, std::forward<Args>(args)...);
}

}  // namespace gp
