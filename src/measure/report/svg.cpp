#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"

namespace gp::report {
namespace {

constexpr double kSmallest = 1e-9, kLargest = 1e15;  // of what a chart can show

double whole_step_below(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  const double digit = value / power;
  return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

double whole_step_above(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  const double digit = value / power;
  return power * (digit > 5 ? 10 : digit > 2 ? 5 : digit > 1 ? 2 : 1);
}

}  // namespace

Scale Scale::linear(double lowest, double highest, double from, double to) {
  lowest = std::clamp(lowest, -kLargest, kLargest);
  highest = std::clamp(highest, -kLargest, kLargest);
  const double least_span = std::max(std::fabs(lowest) * 1e-6, kSmallest);
  return {false, lowest, std::max(highest, lowest + least_span), from, to};
}

Scale Scale::logarithmic(double lowest, double highest, double from, double to) {
  const double low = whole_step_below(std::clamp(lowest, kSmallest, kLargest));
  const double high = whole_step_above(std::clamp(highest, kSmallest, kLargest));
  return {true, low, std::max(high, low * 10), from, to};
}

double Scale::at(double value) const {
  value = std::isfinite(value) ? std::clamp(value, lowest_, highest_) : lowest_;
  const double part = logarithmic_ ? std::log(value / lowest_) / std::log(highest_ / lowest_)
                                   : (value - lowest_) / (highest_ - lowest_);
  return from_ + part * (to_ - from_);
}

std::vector<double> Scale::ticks(int wanted) const {
  std::vector<double> ticks;
  if (!logarithmic_) {
    const double step = whole_step_above((highest_ - lowest_) / wanted);
    for (double i = std::ceil(lowest_ / step - 1e-9); i * step <= highest_ + step * 1e-9; ++i) {
      ticks.push_back(i == 0 ? 0 : i * step);  // and not -0
    }
    return ticks;
  }
  const double decades = std::log10(highest_ / lowest_);
  const int per_decade = decades * 3 <= wanted ? 3 : 1;
  const int every = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
  const int first = static_cast<int>(std::floor(std::log10(lowest_) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(highest_) - 1e-9));
  for (int power = first; power <= last; power += every) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10, power);
      if ((digit == 1 || per_decade == 3) && value >= lowest_ * (1 - 1e-9) &&
          value <= highest_ * (1 + 1e-9)) {
        ticks.push_back(value);
      }
    }
  }
  return ticks;
}

std::string place(double value) {
  if (!std::isfinite(value)) {
    value = 0;
  }
  std::string text = fmt::format("{:.1f}", std::clamp(value, -1e6, 1e6));
  if (text.ends_with(".0")) {
    text.resize(text.size() - 2);
  }
  return text == "-0" ? "0" : text;
}

Svg::Svg(double width, double height, std::string_view label, std::string_view classes)
    : markup_(fmt::format(R"(<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">)"
                          "\n",
                          escape(classes), place(width), place(height), escape(label))) {}

Svg& Svg::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  return raw(fmt::format(R"(<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>)", escape(classes),
                         place(x1), place(y1), place(x2), place(y2)));
}

Svg& Svg::rect(double x, double y, double width, double height, std::string_view classes,
               std::string_view title) {
  const std::string start =
      fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}")", escape(classes),
                  place(x), place(y), place(std::max(width, 0.0)), place(std::max(height, 0.0)));
  return raw(title.empty() ? start + "/>"
                           : fmt::format("{}><title>{}</title></rect>", start, escape(title)));
}

Svg& Svg::circle(double x, double y, double radius, std::string_view classes) {
  return raw(fmt::format(R"(<circle class="{}" cx="{}" cy="{}" r="{}"/>)", escape(classes),
                         place(x), place(y), place(radius)));
}

Svg& Svg::path(std::string_view data, std::string_view classes) {
  return raw(fmt::format(R"(<path class="{}" d="{}"/>)", escape(classes), escape(data)));
}

Svg& Svg::text(double x, double y, std::string_view content, std::string_view classes) {
  return raw(fmt::format(R"(<text class="{}" x="{}" y="{}">{}</text>)", escape(classes), place(x),
                         place(y), escape(content)));
}

Svg& Svg::raw(std::string_view markup) {
  markup_ += markup;
  markup_ += '\n';
  return *this;
}

std::string Svg::finish() const { return markup_ + "</svg>\n"; }

namespace {

// |---|
void draw_whisker(Svg& svg, double from, double to, double top, double height) {
  const double middle = top + height / 2, cap = height / 4;
  svg.line(from, middle, to, middle, "whisker");
  svg.line(from, middle - cap, from, middle + cap, "whisker");
  svg.line(to, middle - cap, to, middle + cap, "whisker");
}

}  // namespace

std::string bars(const std::vector<Bar>& bars, const std::string& label) {
  constexpr double kWidth = 460, kRow = 50, kHeight = 20, kTextAbove = 20, kRoomForText = 120;
  if (bars.empty()) {
    return "";
  }
  double highest = 0;
  for (const Bar& bar : bars) {
    highest = std::max({highest, bar.value, bar.spread ? bar.spread->highest : 0});
  }
  const Scale x = Scale::linear(0, highest, 0, kWidth - kRoomForText);
  Svg svg(kWidth, kRow * static_cast<double>(bars.size()), label);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double top = static_cast<double>(i) * kRow;
    const double length = std::max(x.at(bars[i].value), 1.0);
    svg.text(0, top + kTextAbove - 6, bars[i].name, "label start");
    svg.rect(0, top + kTextAbove, length, kHeight, fmt::format("fill {}", bars[i].classes));
    double end = length;
    if (const auto& spread = bars[i].spread) {
      draw_whisker(svg, x.at(spread->lowest), x.at(spread->highest), top + kTextAbove, kHeight);
      end = std::max(end, x.at(spread->highest));
    }
    svg.text(end + 8, top + kTextAbove + kHeight / 2 + 5, bars[i].text, "value start");
  }
  return svg.finish();
}

}  // namespace gp::report
