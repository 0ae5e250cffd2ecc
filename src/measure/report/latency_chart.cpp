#include "report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/html.h"
#include "report/numbers.h"
#include "report/phases.h"
#include "report/svg.h"

namespace gp::report {
namespace {

constexpr double kWidth = 460, kHeight = 300;
constexpr double kLeft = 44, kRight = kWidth - 22, kTop = 12, kBottom = kHeight - 42;
constexpr int kBins = 40;
constexpr double kNameHeight = 15;  // above a histogram

struct Curve {
  const Phase* phase;
  Summary summary;
};

std::vector<Curve> curves_of(const Results& results) {
  std::vector<Curve> curves;
  for (const Phase& phase : results.phases) {
    if (!phase.online_latency_ms.empty()) {
      curves.push_back({&phase, Summary(phase.online_latency_ms)});
    }
  }
  return curves;
}

Scale latency_scale(const std::vector<Curve>& curves) {
  double lowest = curves[0].summary.sorted.front(), highest = curves[0].summary.sorted.back();
  for (const Curve& curve : curves) {
    lowest = std::min(lowest, curve.summary.sorted.front());
    highest = std::max(highest, curve.summary.sorted.back());
  }
  return Scale::logarithmic(lowest, highest, kLeft, kRight);
}

void draw_latency_axis(Svg& svg, const Scale& x) {
  for (const double tick : x.ticks(8)) {
    svg.line(x.at(tick), kTop, x.at(tick), kBottom, "grid");
    svg.text(x.at(tick), kBottom + 17, format_short_ms(tick), "tick middle");
  }
  svg.line(kLeft, kBottom, kRight, kBottom, "axis");
  svg.text((kLeft + kRight) / 2, kHeight - 4, "latency, from the intended arrival", "label middle");
}

// Steps, of which those too small to see are left out.
std::string steps(const Summary& summary, const Scale& x, const Scale& y) {
  constexpr double kVisible = 0.4;
  double at_x = x.at(summary.sorted.front()), at_y = y.at(0);
  std::string data = fmt::format("M{} {}", place(at_x), place(at_y));
  for (std::size_t i = 0; i < summary.count(); ++i) {
    const double next_x = x.at(summary.sorted[i]);
    const double next_y = y.at(100.0 * static_cast<double>(i + 1) / double(summary.count()));
    const bool last = i + 1 == summary.count();
    if (last || next_x - at_x > kVisible || at_y - next_y > kVisible) {
      data += fmt::format("H{}V{}", place(next_x), place(next_y));
      at_x = next_x;
      at_y = next_y;
    }
  }
  return data + fmt::format("H{}", place(kRight));
}

std::vector<double> shares_of(const Summary& summary, const Scale& x) {
  std::vector<double> shares(kBins);
  for (const double value : summary.sorted) {
    const double part = (x.at(value) - kLeft) / (kRight - kLeft);
    const int bin = std::clamp(static_cast<int>(part * kBins), 0, kBins - 1);
    shares[static_cast<std::size_t>(bin)] += 1.0 / static_cast<double>(summary.count());
  }
  return shares;
}

void draw_histogram(Svg& svg, const Curve& curve, const std::vector<double>& shares, double top,
                    double bottom, double highest) {
  const Scale y = Scale::linear(0, highest, bottom, top + kNameHeight);
  const double step = (kRight - kLeft) / kBins;
  for (int bin = 0; bin < kBins; ++bin) {
    const double share = shares[static_cast<std::size_t>(bin)];
    if (share > 0) {
      // However few: one request in a thousand is what p99.9 is about.
      const double height = std::max(bottom - y.at(share), 1.5);
      svg.rect(kLeft + bin * step + 0.5, bottom - height, step - 1, height,
               fmt::format("fill {}", class_of(*curve.phase)),
               fmt::format("{} of requests", format_percent(share)));
    }
  }
  svg.line(kLeft, bottom, kRight, bottom, "axis");
  svg.text(kRight, top + 10, title_of(*curve.phase), "label end");
  svg.text(kLeft - 6, top + kNameHeight + 4, format_percent(highest), "tick end");
}

}  // namespace

std::string latency_cdf(const Results& results) {
  const std::vector<Curve> curves = curves_of(results);
  if (curves.empty()) {
    return "";
  }
  const Scale x = latency_scale(curves), y = Scale::linear(0, 100, kBottom, kTop);
  Svg svg(kWidth, kHeight, "Share of requests answered within a time, per phase");
  draw_latency_axis(svg, x);
  for (const double tick : y.ticks(4)) {
    svg.line(kLeft, y.at(tick), kRight, y.at(tick), "grid");
    svg.text(kLeft - 6, y.at(tick) + 4, fmt::format("{:.0f} %", tick), "tick end");
  }
  for (const Curve& curve : curves) {
    const std::string shapes = class_of(*curve.phase);
    svg.path(steps(curve.summary, x, y), fmt::format("curve {}", shapes));
  }
  for (const Curve& curve : curves) {
    for (const double q : {0.5, 0.99}) {
      svg.circle(x.at(*curve.summary.quantile(q)), y.at(100 * q), 4,
                 fmt::format("dot {}", class_of(*curve.phase)));
    }
  }
  return svg.finish();
}

std::string latency_histograms(const Results& results) {
  const std::vector<Curve> curves = curves_of(results);
  if (curves.empty()) {
    return "";
  }
  const Scale x = latency_scale(curves);
  std::vector<std::vector<double>> shares;
  double highest = 0;
  for (const Curve& curve : curves) {
    shares.push_back(shares_of(curve.summary, x));
    highest = std::max(highest, *std::max_element(shares.back().begin(), shares.back().end()));
  }
  Svg svg(kWidth, kHeight, "Histograms of latency, per phase");
  draw_latency_axis(svg, x);
  const double height = (kBottom - kTop) / static_cast<double>(curves.size());
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const double top = kTop + static_cast<double>(i) * height;
    draw_histogram(svg, curves[i], shares[i], top + 4, top + height, highest);
  }
  return svg.finish();
}

std::string latency_legend(const Results& results) {
  std::string items;
  for (const Curve& curve : curves_of(results)) {
    items += fmt::format("<li><i class=\"key {}\"></i>{} <small>p50 {} · p99 {}</small></li>\n",
                         class_of(*curve.phase), escape(title_of(*curve.phase)),
                         format_ms(curve.summary.quantile(0.5)),
                         format_ms(curve.summary.quantile(0.99)));
  }
  return fmt::format("<ul class=\"legend\">\n{}</ul>\n", items);
}

}  // namespace gp::report
