#include "cli/line/option.h"

#include <climits>

#include "base/units.h"

namespace gp::cli {

Result<pid_t> parse_pid(const std::string& text) {
  const Result<u64> number = parse_number(text, 1, INT_MAX);
  if (!number) {
    return Error{EINVAL, fmt::format("'{}' is not a process id", text), ""};
  }
  return static_cast<pid_t>(*number);
}

Result<WorkClass> parse_class(const std::string& text) {
  if (const auto work_class = find_class(text)) {
    return *work_class;
  }
  return Error{EINVAL, fmt::format("'{}' is not a class", text), "offline, normal or online"};
}

Result<std::chrono::milliseconds> parse_measuring_time(const std::string& text) {
  const auto duration = std::chrono::nanoseconds(TRY(parse_duration_ns(text)));
  if (duration < std::chrono::seconds(1)) {
    return Error{EINVAL, fmt::format("'{}' is too short to measure anything", text), "1s or more"};
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

}  // namespace gp::cli
