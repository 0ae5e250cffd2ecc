#include "report/schemes.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/bars.h"
#include "report/format.h"
#include "report/html.h"
#include "report/table.h"

namespace gp::report {
namespace {

std::string queues_text(u32 queues) {
  return queues == 1 ? "1 queue" : fmt::format("{} queues", queues);
}

std::string name_of(const Scheme& scheme) {
  return scheme.queues == 0 ? scheme.mechanism
                            : fmt::format("{}, {}", scheme.mechanism, queues_text(scheme.queues));
}

// The slowest with as many queues: what the others are faster than.
double slowest_stop_us(const Results& results, u32 queues) {
  double slowest = 0;
  for (const Scheme& scheme : results.schemes) {
    if (scheme.queues == queues) {
      slowest = std::max(slowest, scheme.stop_p50_us);
    }
  }
  return slowest;
}

std::string us(double microseconds) { return format_ms(microseconds / 1000); }

Cell if_known(double value, const std::string& text) {
  return value > 0 ? cell(text) : cell(kUnknown, "muted");
}

Cell ratio_cell(const Scheme& scheme) {
  const double ratio = scheme.low_over_high.value_or(0);
  return if_known(ratio, format_factor(ratio));
}

// What the schemes are compared with: the same load and nobody who stops anything.
void add_baseline(Table& table, const Scheme& scheme) {
  std::vector<Cell> cells(7, cell("–", "muted"));
  cells.front() = cell("none: no gpreempt");
  cells.push_back(if_known(scheme.online_p50_ms, format_ms(scheme.online_p50_ms)));
  cells.push_back(if_known(scheme.online_p99_ms, format_ms(scheme.online_p99_ms)));
  cells.push_back(ratio_cell(scheme));
  cells.push_back(if_known(scheme.offline_steps_per_s, format_number(scheme.offline_steps_per_s)));
  table.row(std::move(cells));
}

void add_row(Table& table, const Results& results, const Scheme& scheme) {
  const double factor = slowest_stop_us(results, scheme.queues) / scheme.stop_p50_us;
  std::string name = escape(scheme.mechanism);
  if (scheme.queues != 0) {
    name += fmt::format("<small>{}</small>", queues_text(scheme.queues));
  }
  if (!scheme.note.empty()) {
    name += fmt::format("<small>{}</small>", escape(scheme.note));
  }
  table.row({{name, ""},
             cell(fmt::format("{}", scheme.level)),
             cell(us(scheme.stop_p50_us)),
             cell(us(scheme.stop_p99_us)),
             cell(format_factor(factor)),
             cell(us(scheme.start_p50_us)),
             cell(us(scheme.start_p99_us)),
             if_known(scheme.online_p50_ms, format_ms(scheme.online_p50_ms)),
             if_known(scheme.online_p99_ms, format_ms(scheme.online_p99_ms)),
             ratio_cell(scheme),
             if_known(scheme.offline_steps_per_s, format_number(scheme.offline_steps_per_s))});
}

}  // namespace

std::string scheme_comparison(const Results& results) {
  if (results.schemes.empty()) {
    return "";
  }
  std::vector<Bar> stops;
  Table table({"Mechanism", "Level", "Stop p50", "Stop p99", "Faster by", "Start p50", "Start p99",
               "Online p50", "Online p99", "Low/high", "Offline steps/s"});
  for (const Scheme& scheme : results.schemes) {
    if (scheme.mechanism == kNoScheme) {
      add_baseline(table, scheme);
      continue;
    }
    if (!is_measured(scheme)) {
      table.remark(cell(name_of(scheme), "muted"),
                   scheme.note.empty() ? "not measured" : scheme.note);
      continue;
    }
    stops.push_back({name_of(scheme), scheme.stop_p50_us, us(scheme.stop_p50_us),
                     fmt::format("level{}", scheme.level)});
    add_row(table, results, scheme);
  }
  return fmt::format(
      "<div class=\"charts\"><figure><figcaption>Time to stop (p50)</figcaption>{}</figure>"
      "<div class=\"prose\"><p><i class=\"key level1\"></i><b>Level 1</b> holds back work that was "
      "not started; what runs, runs to its end.</p><p><i class=\"key level2\"></i><b>Level 2</b> "
      "stops between kernels.</p><p><i class=\"key level3\"></i><b>Level 3</b> stops running "
      "kernels: their state is saved and restored.</p><p>“Faster by” compares with the slowest way "
      "to stop as many queues. “Low/high”: two like programs at once, one offline and one online, "
      "that together want more than the GPU has; p50 of the one over that of the other.</p>"
      "</div></div>\n{}",
      bars(stops, "Time to stop per mechanism"), table.finish());
}

}  // namespace gp::report
