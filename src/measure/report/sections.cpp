#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/charts.h"
#include "report/comparisons.h"
#include "report/html.h"
#include "report/numbers.h"
#include "report/phases.h"
#include "report/svg.h"
#include "report/verdict.h"

namespace gp::report {
namespace {

std::string section(const std::string& title, const std::string& content) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", escape(title), content);
}

std::string with_unit(const std::optional<double>& value, const std::string& unit) {
  return value ? fmt::format("{} {}", format_short(*value), unit) : kUnknown;
}

constexpr char kRoundsInTimelines[] =
    "<p class=\"soft\">The rounds of a phase stand one after the other, with a gap between them."
    "</p>\n";

// At a character's start, so that no half of one is left.
std::string shortened(const std::string& text, std::size_t longest) {
  if (text.size() <= longest) {
    return text;
  }
  std::size_t end = longest;
  while (end > 0 && (static_cast<u8>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end) + "…";
}

// Remarks may be what a program said before it died: results.json has all of it.
Cell criterion_cell(const Criterion& criterion) {
  constexpr std::size_t kLongestRemark = 240;
  std::string markup = escape(criterion.what);
  if (is_inconclusive(criterion)) {
    markup += fmt::format("<small>other programs took {}</small>",
                          escape(others_text(*criterion.others)));
  }
  if (!criterion.note.empty()) {
    markup += fmt::format("<small>{}</small>", escape(shortened(criterion.note, kLongestRemark)));
  }
  return {markup, ""};
}

Cell verdict_cell(const Criterion& criterion) {
  switch (verdict_of(criterion)) {
    case Verdict::met: return cell("✓ met", "good");
    case Verdict::inconclusive: return cell("? inconclusive", "muted");
    case Verdict::not_possible: return cell("– not possible here", "muted");
    case Verdict::skipped: return cell("– skipped", "muted");
    case Verdict::emulated: return cell("– emulated, not judged", "muted");
    case Verdict::shown: return cell("– shown, not judged", "muted");
    case Verdict::missed: break;
  }
  return cell(criterion.value ? "✗ not met" : "✗ not measured", "bad");
}

// Alone, nobody competes for the GPU: there is nothing to see.
bool shows_competition(const Phase& phase) {
  return class_of(phase) != "alone" && has_timeline(phase);
}

std::string close_up_figure(const Phase& phase) {
  const std::optional<CloseUp> close_up = preemption_close_up(phase);
  return close_up ? fmt::format(
                        "<figure><figcaption>From near: one preemption of usual length, {} "
                        "into the phase</figcaption>\n{}</figure>\n",
                        format_ms(close_up->start_us / 1000), close_up->svg)
                  : "";
}

std::string timeline_figures(const Phase& phase, double length_us) {
  return fmt::format("<h3>{}</h3>\n<figure class=\"zoomable\">\n{}</figure>\n{}",
                     escape(title_of(phase)), timeline_chart(phase, length_us),
                     close_up_figure(phase));
}

}  // namespace

std::string verdict_section(const Results& results) {
  if (results.criteria.empty()) {
    return "";
  }
  const bool noise_known = std::any_of(results.criteria.begin(), results.criteria.end(),
                                       [](const Criterion& each) { return each.noise; });
  std::vector<std::string> columns = {"Criterion", "Verdict", "Measured", "Asked for"};
  if (noise_known) {
    columns.emplace_back("Noise");
  }
  Table table(std::move(columns), true);
  const bool grouped = results.criteria.front().scenario != results.criteria.back().scenario;
  const std::string* scenario = nullptr;
  for (const Criterion& each : results.criteria) {
    if (grouped && (scenario == nullptr || *scenario != each.scenario)) {
      scenario = &each.scenario;
      table.group(each.scenario);
    }
    std::vector<Cell> cells = {
        criterion_cell(each), verdict_cell(each), cell(with_unit(each.value, each.unit)),
        cell(fmt::format("{} {}", each.at_least ? "≥" : "≤", with_unit(each.limit, each.unit)))};
    if (noise_known) {
      cells.push_back(each.noise ? cell(with_unit(each.noise, each.unit))
                                 : cell(kUnknown, "muted"));
    }
    table.row(std::move(cells));
  }
  return section(fmt::format("Verdict: {}", count_text(results.criteria)), table.finish());
}

std::string latency_section(const Results& results) {
  const std::string cdf = latency_cdf(results);
  if (cdf.empty()) {
    return "";
  }
  return section(
      "How long online requests take",
      fmt::format("{}<div class=\"charts\">\n<figure><figcaption>Share answered within a time;"
                  " dots are p50 and p99</figcaption>\n{}</figure>\n<figure><figcaption>How "
                  "often each time occurs</figcaption>\n{}</figure>\n</div>\n",
                  latency_legend(results), cdf, latency_histograms(results)));
}

std::string token_section(const Results& results) {
  Table table({"Phase", "First token p50", "p99", "Max", "Each next token p50", "p99", "Max",
               "Texts as alone"});
  bool known = false;
  for (const Phase& phase : results.phases) {
    if (!phase.tokens) {
      continue;
    }
    known = true;
    std::vector<Cell> cells = {cell(title_of(phase))};
    for (const auto* times_ms : {&phase.tokens->first_ms, &phase.tokens->next_ms}) {
      const Summary summary(*times_ms);
      for (const double q : {0.5, 0.99, 1.0}) {
        cells.push_back(number_cell(format_ms(summary.quantile(q))));
      }
    }
    const std::optional<bool>& equal = phase.tokens->texts_equal;
    cells.push_back(!equal   ? cell(kUnknown, "muted")
                    : *equal ? cell("yes", "good")
                             : cell("no", "bad"));
    table.row(std::move(cells), phase.name == kBothWith ? "strong" : "");
  }
  return !known ? ""
                : section("The language model, token by token",
                          table.finish() +
                              "<p class=\"soft\">The first token counts from the intended arrival "
                              "of a request, each further one from the token before. The requests "
                              "above are whole answers. Texts are compared, token by token, with "
                              "the answers to the same questions while the model had the GPU to "
                              "itself.</p>\n");
}

std::string timeline_section(const Results& results) {
  double length_us = 0;
  for (const Phase& phase : results.phases) {
    if (shows_competition(phase)) {
      length_us = std::max(length_us, length_us_of(phase));
    }
  }
  std::string figures;
  for (const Phase& phase : results.phases) {
    if (shows_competition(phase)) {
      figures += timeline_figures(phase, length_us);
    }
  }
  if (figures.empty()) {
    return "";
  }
  const bool in_rounds = std::any_of(results.phases.begin(), results.phases.end(),
                                     [](const Phase& each) { return each.rounds.size() > 1; });
  return section(
      "Who had the GPU when",
      "<ul class=\"legend\"><li><i class=\"key request\"></i>request, from intended arrival to "
      "answer</li><li><i class=\"key online\"></i>online has work</li><li><i class=\"key "
      "offline\"></i>offline may "
      "run</li><li><i class=\"key stopped\"></i>offline is stopped</li><li><i class=\"key "
      "stop\"></i><i class=\"key start\"></i>stop and start, from decision to done</li></ul>\n" +
          std::string(in_rounds ? kRoundsInTimelines : "") + figures);
}

std::string throughput_section(const Results& results) {
  std::vector<Bar> steps;
  const Phase* alone = find_phase(results, kOfflineAlone);
  const double whole = alone == nullptr ? 0 : alone->offline_steps_per_s.value_or(0);
  for (const Phase& phase : results.phases) {
    if (phase.offline_steps_per_s) {
      const double value = *phase.offline_steps_per_s;
      steps.push_back(
          {title_of(phase), value,
           whole > 0 ? fmt::format("{} ({})", format_number(value), format_percent(value / whole))
                     : format_number(value),
           class_of(phase), speed_spread(phase)});
    }
  }
  if (steps.empty()) {
    return "";
  }
  return section(
      "What it costs offline work",
      fmt::format("<div class=\"charts\">\n<figure><figcaption>Offline steps per "
                  "second</figcaption>\n{}</figure>\n<div class=\"prose\"><p>The time that online "
                  "work spends on the GPU is lost to offline work in any case. What goes beyond it "
                  "is the price of stopping: the stop and the start themselves, and the moments in "
                  "between in which nobody runs.</p></div></div>\n",
                  bars(steps, "Offline steps per second, per phase")));
}

std::string scheme_section(const Results& results) {
  const std::string comparison = scheme_comparison(results) + batching_comparison(results) +
                                 reservation_comparison(results) + linger_comparison(results) +
                                 tier_table(results);
  return comparison.empty() ? "" : section("Ways to stop, under the same load", comparison);
}

std::string advice_section(const Results& results) {
  const std::vector<Advice> advice = advice_for(results);
  if (advice.empty()) {
    return "";
  }
  Table table({"What limits it", "What to try next"}, true);
  for (const Advice& each : advice) {
    table.row({cell(each.finding, "words"), cell(each.remedy, "words")});
  }
  return section("What limits it, and what to try next", table.finish());
}

std::string environment_section(const Results& results) {
  const Environment& environment = results.environment;
  std::string facts;
  const auto fact = [&](const char* name, const std::string& value) {
    facts += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name,
                         value.empty() ? std::string(kUnknown) : escape(value));
  };
  fact("GPU", environment.virtual_gpu ? fmt::format("{} – emulated time", environment.device)
                                      : environment.device);
  fact("CPU", environment.cores == 0
                  ? environment.cpu
                  : fmt::format("{}, {} cores", environment.cpu, environment.cores));
  fact("Kernel", environment.kernel);
  fact("ROCm", environment.rocm);
  fact("gpreempt", environment.gpreempt_version);
  fact("Date", environment.date);
  return section(
      "Where and how it was measured",
      fmt::format("<dl class=\"facts\">\n{}</dl>\n<p>To repeat it:</p>\n<pre>{}</pre>\n"
                  "<p>Latency counts from the moment a request was meant to arrive, so waiting "
                  "behind other requests is part of it. Quantiles are exact: p99 is the smallest "
                  "measured time that 99 % of the requests do not exceed. Every ratio compares "
                  "phases of this one run. Noise, where shown, is how far two like runs were "
                  "apart on this machine, by which factor or by how much. What could not be "
                  "measured is N/A and counts as not met. What was missed while other programs "
                  "took more than {} of all CPUs is inconclusive.</p>\n",
                  facts, environment.command.empty() ? kUnknown : escape(environment.command),
                  format_percent(kMostOfCpus)));
}

}  // namespace gp::report
