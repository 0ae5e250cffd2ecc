#include "report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gp::report {

Summary::Summary(std::vector<double> values) : sorted(std::move(values)) {
  std::sort(sorted.begin(), sorted.end());
}

std::optional<double> Summary::quantile(double q) const {
  if (sorted.empty()) {
    return std::nullopt;
  }
  // In hundredths of a percent, whole: 0.99 * 100 is a little more than 99 in binary.
  const double parts = std::round(q * 1e4);
  const auto rank =
      static_cast<std::size_t>(std::ceil(parts * static_cast<double>(sorted.size()) / 1e4));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

std::optional<double> ratio(std::optional<double> value, std::optional<double> base) {
  return value && base && *base > 0 ? std::optional(*value / *base) : std::nullopt;
}

std::optional<double> median(std::vector<double> values) {
  const Summary summary(std::move(values));
  const std::size_t count = summary.count();
  if (count == 0) {
    return std::nullopt;
  }
  return std::midpoint(summary.sorted[(count - 1) / 2], summary.sorted[count / 2]);
}

namespace {

constexpr double kGroupedBelow = 1e12;  // beyond, digits in groups are harder to read than powers

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", std::fabs(value));
  for (std::size_t at = digits.size(); at > 3; at -= 3) {
    digits.insert(at - 3, 1, ',');
  }
  return fmt::format("{}{}", value < 0 ? "-" : "", digits);
}

struct Time {
  double value;
  const char* unit;
};
Time with_unit(double milliseconds) {
  const double size = std::fabs(milliseconds);
  return size >= 999.5               ? Time{milliseconds / 1000, "s"}
         : size < 0.9995 && size > 0 ? Time{milliseconds * 1000, "µs"}
                                     : Time{milliseconds, "ms"};
}

}  // namespace

std::string format_number(double value) {
  const double size = std::fabs(value);
  if (!std::isfinite(value)) {
    return kUnknown;
  }
  if (size == 0) {
    return "0";
  }
  if (size >= kGroupedBelow || size < 1e-3) {
    return fmt::format("{:.2e}", value);
  }
  if (size >= 99.95) {
    return grouped(value);
  }
  const int decimals = size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string format_number(const std::optional<double>& value) {
  return value ? format_number(*value) : kUnknown;
}

std::string format_short(double value) {
  std::string text = format_number(value);
  if (text.find('.') != std::string::npos && text.find('e') == std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    text.erase(text.find_last_not_of('.') + 1);
  }
  return text;
}

std::string format_ms(double milliseconds) {
  if (!std::isfinite(milliseconds)) {
    return kUnknown;
  }
  const Time time = with_unit(milliseconds);
  return fmt::format("{} {}", format_number(time.value), time.unit);
}

std::string format_short_ms(double milliseconds) {
  if (milliseconds == 0 || !std::isfinite(milliseconds)) {
    return milliseconds == 0 ? "0" : kUnknown;
  }
  const Time time = with_unit(milliseconds);
  return fmt::format("{} {}", format_short(time.value), time.unit);
}

std::string format_ms(const std::optional<double>& milliseconds) {
  return milliseconds ? format_ms(*milliseconds) : kUnknown;
}

std::string format_us(const std::optional<double>& microseconds) {
  return microseconds ? format_ms(*microseconds / 1000) : kUnknown;
}

std::string format_factor(double factor) {
  if (!std::isfinite(factor)) {
    return kUnknown;
  }
  return factor < 9.95 ? fmt::format("{:.1f}x", factor) : format_short(std::round(factor)) + "x";
}

std::string format_percent(double part) {
  return std::isfinite(part) ? fmt::format("{} %", format_short(std::round(part * 100))) : kUnknown;
}

std::string format_factor(const std::optional<double>& factor) {
  return factor ? format_factor(*factor) : kUnknown;
}

std::string format_percent(const std::optional<double>& part) {
  return part ? format_percent(*part) : kUnknown;
}

}  // namespace gp::report
