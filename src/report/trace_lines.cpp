#include "report/trace_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

namespace gp::report {
namespace {

using nlohmann::json;

// A double holds whole nanoseconds up to 2^53, which is 104 days; after that it is off by one or
// two, which no picture shows.
u64 nanoseconds(double microseconds) { return static_cast<u64>(std::llround(microseconds * 1000)); }

std::optional<TraceLine> parse_line(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  try {
    TraceLine line;
    line.number = object.at("number").get<u64>();
    const double time_us = object.at("time_us").get<double>();
    if (!(time_us >= 0 && time_us < 9e15)) {
      return std::nullopt;
    }
    line.time_ns = nanoseconds(time_us);
    line.event = object.at("event").get<std::string>();
    line.work_class = object.at("class").get<std::string>();
    line.job = object.at("job").get<u64>();
    if (!object.at("pid").is_null()) {
      line.pid = object.at("pid").get<pid_t>();
    }
    line.value = object.at("value").get<i64>();
    return line;
  } catch (const json::exception&) {
    return std::nullopt;  // the caller says which line
  }
}

}  // namespace

Result<std::vector<TraceLine>> parse_trace(std::string_view lines) {
  std::vector<TraceLine> parsed;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view text = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    std::optional<TraceLine> line = parse_line(text);
    if (!line) {
      return Error{EPROTO, fmt::format("the trace cannot be understood: {}", text.substr(0, 200)),
                   "gpreempt and gpreemptd may be of different versions"};
    }
    parsed.push_back(std::move(*line));
  }
  return parsed;
}

}  // namespace gp::report
