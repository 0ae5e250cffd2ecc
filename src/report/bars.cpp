#include "report/bars.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/svg.h"

namespace gp::report {

std::string bars(const std::vector<Bar>& bars, const std::string& label) {
  constexpr double kWidth = 460, kRow = 50, kHeight = 20, kTextAbove = 20, kRoomForText = 120;
  if (bars.empty()) {
    return "";
  }
  double highest = 0;
  for (const Bar& bar : bars) {
    highest = std::max(highest, bar.value);
  }
  const Scale x = Scale::linear(0, highest, 0, kWidth - kRoomForText);
  Svg svg(kWidth, kRow * static_cast<double>(bars.size()), label);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double top = static_cast<double>(i) * kRow;
    const double length = std::max(x.at(bars[i].value), 1.0);
    svg.text(0, top + kTextAbove - 6, bars[i].name, "label start");
    svg.rect(0, top + kTextAbove, length, kHeight, fmt::format("fill {}", bars[i].classes));
    svg.text(length + 8, top + kTextAbove + kHeight / 2 + 5, bars[i].text, "value start");
  }
  return svg.finish();
}

}  // namespace gp::report
