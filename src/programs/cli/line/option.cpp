#include "cli/line/option.h"

#include <climits>
#include <cstdio>

#include "base/units.h"
#include "cli/exit_code.h"

namespace gp::cli {

int usage_error(const std::string& what, const std::string& hint) {
  std::fprintf(stderr, "gpreempt: %s\nhint: %s\n", what.c_str(), hint.c_str());
  return exit_usage;
}

Result<pid_t> parse_pid(const std::string& text) {
  const Result<u64> number = parse_number(text, 1, INT_MAX);
  if (!number) {
    return Error{EINVAL, fmt::format("'{}' is not a process id", text), ""};
  }
  return static_cast<pid_t>(*number);
}

Result<discover::WorkClass> parse_class(const std::string& text) {
  using discover::WorkClass;
  for (const WorkClass each : {WorkClass::offline, WorkClass::normal, WorkClass::online}) {
    if (text == name(each)) {
      return each;
    }
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
