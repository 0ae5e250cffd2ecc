// Numbers: exact quantiles of a list of measurements, and how people read them: three digits that
// matter, a unit that fits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libc/types.h"

namespace gp::report {

struct Summary {
  std::vector<double> sorted;

  explicit Summary(std::vector<double> values);
  std::size_t count() const { return sorted.size(); }
  // The smallest measured value that a part `q` (0..1) of all do not exceed; empty without values.
  std::optional<double> quantile(double q) const;
  std::optional<double> max() const { return quantile(1); }
};

// Of two numbers that may be unknown; unknown too if the second is not above 0.
std::optional<double> ratio(std::optional<double> value, std::optional<double> base);

// The middle one, or what lies between the two middle ones; empty without values.
std::optional<double> median(std::vector<double> values);

inline constexpr char kUnknown[] = "N/A";

// "0.0123", "1.23", "12.3", "123", "12,300".
std::string format_number(double value);
std::string format_number(const std::optional<double>& value);

// The same without zeros at the end: "5", "1.5". For limits and axes, which are round.
std::string format_short(double value);

// A time with the unit that fits: "850 µs", "12.3 ms", "1.20 s".
std::string format_ms(double milliseconds);
std::string format_ms(const std::optional<double>& milliseconds);
std::string format_us(const std::optional<double>& microseconds);

// The same on an axis: "850 µs", "12.3 ms", "1.2 s"; zero is "0".
std::string format_short_ms(double milliseconds);

// "3.4x", "120x".
std::string format_factor(double factor);
std::string format_factor(const std::optional<double>& factor);

// A whole percentage of 1: "94 %".
std::string format_percent(double part);
std::string format_percent(const std::optional<double>& part);

}  // namespace gp::report
