#include "report/bars.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/svg.h"

namespace gp::report {
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
