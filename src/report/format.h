// Numbers as people read them: three digits that matter, a unit that fits.
#pragma once

#include <optional>
#include <string>

namespace gp::report {

inline constexpr char kUnknown[] = "N/A";

// "0.0123", "1.23", "12.3", "123", "12,300".
std::string format_number(double value);
std::string format_number(const std::optional<double>& value);

// The same without zeros at the end: "5", "1.5". For limits and axes, which are round.
std::string format_short(double value);

// A time with the unit that fits: "850 µs", "12.3 ms", "1.20 s".
std::string format_ms(double milliseconds);
std::string format_ms(const std::optional<double>& milliseconds);

// The same on an axis: "850 µs", "12.3 ms", "1.2 s"; zero is "0".
std::string format_short_ms(double milliseconds);

// "3.4x", "120x".
std::string format_factor(double factor);

// A whole percentage of 1: "94 %".
std::string format_percent(double part);

}  // namespace gp::report
