#include "report/format.h"

#include <fmt/format.h>

#include <cmath>

namespace gp::report {
namespace {

constexpr double kGroupedBelow = 1e12;  // beyond, digits in groups are harder to read than powers

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", std::fabs(value));
  for (std::size_t at = digits.size(); at > 3; at -= 3) {
    digits.insert(at - 3, 1, ',');
  }
  return fmt::format("{}{}", value < 0 ? "-" : "", digits);
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

std::string format_ms(double milliseconds) {
  const double size = std::fabs(milliseconds);
  if (!std::isfinite(milliseconds)) {
    return kUnknown;
  }
  if (size >= 999.5) {
    return format_number(milliseconds / 1000) + " s";
  }
  if (size < 0.9995 && size > 0) {
    return format_number(milliseconds * 1000) + " µs";
  }
  return format_number(milliseconds) + " ms";
}

std::string format_ms(const std::optional<double>& milliseconds) {
  return milliseconds ? format_ms(*milliseconds) : kUnknown;
}

std::string format_factor(double factor) {
  if (!std::isfinite(factor)) {
    return kUnknown;
  }
  return factor < 9.95 ? fmt::format("{:.1f}x", factor) : format_number(std::round(factor)) + "x";
}

std::string format_percent(double part) {
  return std::isfinite(part) ? fmt::format("{} %", format_number(std::round(part * 100)))
                             : kUnknown;
}

}  // namespace gp::report
