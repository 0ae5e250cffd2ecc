// The parts every chart is made of: scales from values to places, ticks, shapes.
//
// Colours are never written into the pictures. Shapes have classes, and the page's style gives them
// colours, so that one picture serves light, dark and paper.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/phases.h"

namespace gp::report {

// From values to places along one axis. Values outside are put at the edge.
class Scale {
 public:
  static Scale linear(double lowest, double highest, double from, double to);
  // Bounds are moved outward to whole steps of 1, 2, 5, 10, ... so that ticks stand at the ends.
  // Values at or below 0 have no place on it and go to the low end.
  static Scale logarithmic(double lowest, double highest, double from, double to);

  double at(double value) const;
  double lowest() const { return lowest_; }
  double highest() const { return highest_; }
  // Round values for an axis: at most about `wanted` of them.
  std::vector<double> ticks(int wanted) const;

 private:
  Scale(bool logarithmic, double lowest, double highest, double from, double to)
      : logarithmic_(logarithmic), lowest_(lowest), highest_(highest), from_(from), to_(to) {}

  bool logarithmic_;
  double lowest_, highest_, from_, to_;
};

// A picture being written. Lengths are in its own units, one CSS pixel at full width.
class Svg {
 public:
  // `label` is what a screen reader says.
  Svg(double width, double height, std::string_view label, std::string_view classes = "");

  Svg& line(double x1, double y1, double x2, double y2, std::string_view classes);
  Svg& rect(double x, double y, double width, double height, std::string_view classes,
            std::string_view title = "");
  Svg& circle(double x, double y, double radius, std::string_view classes);
  Svg& path(std::string_view data, std::string_view classes);
  // `classes` may hold start, middle or end: which part of the text is at x.
  Svg& text(double x, double y, std::string_view content, std::string_view classes);
  Svg& raw(std::string_view markup);
  std::string finish() const;

 private:
  std::string markup_;
};

// A coordinate with one decimal, and never "-0.0", "nan" or "1e+20".
std::string place(double value);

// Horizontal bars with their names above and their values at the end.
struct Bar {
  std::string name;
  double value = 0;
  std::string text;     // the value, for people
  std::string classes;  // of the shape: "offline with"
  std::optional<Spread> spread = {};
};

// All from 0, on one linear scale. Empty without bars.
std::string bars(const std::vector<Bar>& bars, const std::string& label);

}  // namespace gp::report
