#include "report/page.h"

#include <fmt/format.h>

#include "report/charts.h"
#include "report/html.h"
#include "report/numbers.h"
#include "report/phases.h"
#include "report/svg.h"
#include "report/verdict.h"

namespace gp::report {
namespace {

constexpr double kWidth = kTimelineWidth + 40, kLeft = 20;
constexpr double kChartTop = 84, kChartWidth = 520, kChartHeight = 339;
constexpr double kLegendLeft = kLeft + kChartWidth + 30, kLegendTop = kChartTop + 40;
constexpr double kLegendStep = 58;
constexpr double kCloseUpTop = kChartTop + kChartHeight + 44;

// What the page's body gives its charts.
constexpr char kPictureStyle[] = R"css(
svg { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans",
  sans-serif; }
.back { fill: var(--page); }
svg text.title { font-size: 22px; font-weight: 650; fill: var(--text); }
svg text.lead { font-size: 14px; }
)css";

std::optional<double> p99(const Results& results, const char* name) {
  const Phase* phase = find_phase(results, name);
  return phase == nullptr ? std::nullopt : Summary(phase->online_latency_ms).quantile(0.99);
}

std::string title(const Results& results) {
  const auto without = p99(results, kBothWithout), with = p99(results, kBothWith);
  if (!without || !with) {
    return "Latency of requests";
  }
  return *with < *without
             ? fmt::format("Requests beside a training job: p99 {} → {} with gpreempt",
                           format_ms(without), format_ms(with))
             : fmt::format("Requests beside a training job: p99 {}, worse with gpreempt: {}",
                           format_ms(without), format_ms(with));
}

std::string where(const Results& results) {
  const Environment& environment = results.environment;
  const std::optional<OtherPrograms> others = most_disturbed(results);
  const std::string beside_others =
      is_disturbed(others) ? fmt::format(", of which other programs took {}", others_text(*others))
                           : "";
  return fmt::format("Measured on {}: {}, {} cores{}", environment.device, environment.cpu,
                     environment.cores, beside_others);
}

// A picture within the picture.
std::string inset(double x, double y, double width, double height, const std::string& svg) {
  return fmt::format(R"(<svg x="{}" y="{}" width="{}" height="{}" style="width:{}px;height:{}px">)"
                     "\n{}</svg>",
                     place(x), place(y), place(width), place(height), place(width), place(height),
                     svg);
}

void draw_legend(Svg& svg, const Results& results) {
  double y = kLegendTop;
  for (const Phase& phase : results.phases) {
    const Summary summary(phase.online_latency_ms);
    if (summary.count() == 0) {
      continue;
    }
    svg.rect(kLegendLeft, y - 11, 13, 13, fmt::format("fill {}", class_of(phase)));
    svg.text(kLegendLeft + 22, y, title_of(phase), "value start");
    svg.text(kLegendLeft + 22, y + 20,
             fmt::format("p50 {} · p99 {}", format_ms(summary.quantile(0.5)),
                         format_ms(summary.quantile(0.99))),
             "label start");
    y += kLegendStep;
  }
}

}  // namespace

std::string picture(const Results& results) {
  const std::string latencies = latency_cdf(results);
  if (latencies.empty()) {
    return "";
  }
  const Phase* with = find_phase(results, kBothWith);
  const std::optional<CloseUp> close_up =
      with == nullptr ? std::nullopt : preemption_close_up(*with);
  const double height =
      close_up ? kCloseUpTop + 14 + close_up->height + 10 : kChartTop + kChartHeight + 20;
  Svg svg(kWidth, height, title(results));
  svg.rect(0, 0, kWidth, height, "back");
  svg.text(kLeft, 36, title(results), "title start");
  svg.text(kLeft, 60, where(results), "lead start");
  svg.raw(inset(kLeft, kChartTop, kChartWidth, kChartHeight, latencies));
  draw_legend(svg, results);
  if (close_up) {
    svg.text(kLeft, kCloseUpTop,
             "One preemption from near (red: the stop under way, green: the start)", "label start");
    svg.raw(inset(kLeft, kCloseUpTop + 14, kTimelineWidth, close_up->height, close_up->svg));
  }
  const std::string markup = svg.finish();
  const std::size_t after_root = markup.find('>') + 1;
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}"{})"
                     "\n<style><![CDATA[{}{}]]></style>{}\n",
                     place(kWidth), place(height), markup.substr(4, after_root - 4), kStyle,
                     kPictureStyle, markup.substr(after_root));
}

}  // namespace gp::report
