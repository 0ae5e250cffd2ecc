#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"
#include "report/numbers.h"
#include "report/phases.h"
#include "report/report.h"
#include "report/verdict.h"

namespace gp::report {
namespace {

// What the first lines speak of; each may be missing.
struct Numbers {
  std::optional<double> p99_alone, p99_without, p99_with;
  std::optional<double> offline_alone, offline_with;
  std::optional<OtherPrograms> others;  // where they took most
  const Phase* with = nullptr;

  explicit Numbers(const Results& results) : with(find_phase(results, kBothWith)) {
    const auto p99 = [&](const char* name) -> std::optional<double> {
      const Phase* phase = find_phase(results, name);
      return phase == nullptr ? std::nullopt : Summary(phase->online_latency_ms).quantile(0.99);
    };
    p99_alone = p99(kOnlineAlone);
    p99_without = p99(kBothWithout);
    p99_with = p99(kBothWith);
    if (const Phase* alone = find_phase(results, kOfflineAlone)) {
      offline_alone = alone->offline_steps_per_s;
    }
    offline_with = with == nullptr ? std::nullopt : with->offline_steps_per_s;
    others = most_disturbed(results);
  }
  bool got_worse() const { return p99_without && p99_with && *p99_with >= *p99_without; }
  std::optional<double> offline_kept() const {
    return offline_alone && offline_with && *offline_alone > 0
               ? std::optional(*offline_with / *offline_alone)
               : std::nullopt;
  }
};

std::string times(u64 count) {
  return count == 0 ? "never" : count == 1 ? "once" : fmt::format("{} times", count);
}

std::string lead(const Numbers& numbers) {
  std::string text;
  if (is_disturbed(numbers.others) && numbers.got_worse()) {
    text += fmt::format("Beside offline work, online p99 was {} without gpreempt and {} with it. ",
                        format_ms(numbers.p99_without), format_ms(numbers.p99_with));
  } else if (is_disturbed(numbers.others)) {
    text += fmt::format(
        "Meanwhile other programs took up to {}: on a quiet machine the numbers differ. ",
        others_text(*numbers.others));
  }
  if (const auto kept = numbers.offline_kept()) {
    text += *kept <= kFasterThanAlone
                ? fmt::format("Offline work keeps {} of the speed it has alone. ",
                              format_percent(std::min(*kept, 1.0)))
                : fmt::format(
                      "Offline work measured {} of its speed alone: this machine was not "
                      "quiet. ",
                      format_percent(*kept));
  }
  if (numbers.with != nullptr) {
    text += fmt::format("It was stopped {}", times(numbers.with->preemptions));
    if (numbers.with->checksum_ok) {
      text += *numbers.with->checksum_ok ? ", and its result is bit-identical to an undisturbed run"
                                         : ", and its result differs from an undisturbed run";
    }
    text += ".";
  }
  return text;
}

// What fell is sold, what rose is not; and neither gpreempt's fault nor its merit is what other
// programs did.
std::string claim(const Numbers& numbers) {
  if (!numbers.got_worse()) {
    return fmt::format("Beside offline work, online p99 falls from {} to <em>{}</em>",
                       format_ms(numbers.p99_without), format_ms(numbers.p99_with));
  }
  return is_disturbed(numbers.others)
             ? fmt::format("Inconclusive: other programs took {}", others_text(*numbers.others))
             : fmt::format("Online p99 got worse with gpreempt: {}, and {} without it",
                           format_ms(numbers.p99_with), format_ms(numbers.p99_without));
}

std::string tile(const std::string& name, const std::string& value, const std::string& remark,
                 const std::string& classes = "") {
  return fmt::format("<div><dt>{}</dt><dd class=\"{}\">{}<small>{}</small></dd></div>\n",
                     escape(name), classes, escape(value), escape(remark));
}

std::string latency_tile(const Numbers& numbers) {
  std::string remark = "with gpreempt";
  if (numbers.got_worse()) {
    remark = fmt::format("{} without gpreempt: worse", format_ms(numbers.p99_without));
  } else if (numbers.p99_without && *numbers.p99_with > 0) {
    remark = fmt::format("{} without gpreempt ({})", format_ms(numbers.p99_without),
                         format_factor(*numbers.p99_without / *numbers.p99_with));
  } else if (numbers.p99_alone) {
    remark = fmt::format("{} alone", format_ms(numbers.p99_alone));
  }
  return tile("Online p99 beside offline", format_ms(numbers.p99_with), remark,
              numbers.got_worse() ? "bad" : "");
}

std::string offline_tile(const Numbers& numbers) {
  const auto kept = numbers.offline_kept();
  return tile("Offline speed kept", kept ? format_percent(*kept) : kUnknown,
              fmt::format("{} of {} steps/s", format_number(numbers.offline_with),
                          format_number(numbers.offline_alone)));
}

std::string preemption_tile(const Phase& with) {
  const double rate =
      with.duration_s > 0 ? static_cast<double>(with.preemptions) / with.duration_s : 0;
  return tile("Preemptions", fmt::format("{}", with.preemptions),
              fmt::format("{} per second", format_number(rate)));
}

std::string intact_tile(const Phase& with) {
  const bool intact = with.checksum_ok.value_or(false);
  return tile("Offline's result",
              !with.checksum_ok ? kUnknown
              : intact          ? "intact"
                                : "differs",
              !with.checksum_ok ? "not compared" : "against an undisturbed run",
              !with.checksum_ok ? "muted"
              : intact          ? "good"
                                : "bad");
}

Cell intact_cell(const std::optional<bool>& checksum_ok) {
  if (!checksum_ok) {
    return cell(kUnknown, "muted");
  }
  return *checksum_ok ? cell("yes", "good") : cell("no", "bad");
}

// The phase as a whole, and below it its worst round where others disturbed.
Cell others_cell(const Phase& phase) {
  if (!phase.others) {
    return cell(kUnknown, "muted");
  }
  const auto text = [](const OtherPrograms& others) {
    return escape(format_percent(part_of_cpus(others) * others.cpus));
  };
  std::string markup = text(*phase.others);
  const auto most = most_disturbed(phase);
  if (is_disturbed(most)) {
    markup += fmt::format("<small>up to {}</small>", text(*most));
  }
  return {markup, is_disturbed(most) ? "bad" : ""};
}

// A number, and below it how far the rounds were apart.
template <class Format>
Cell measured_cell(const std::optional<double>& value, const std::optional<Spread>& spread,
                   Format format) {
  if (!value) {
    return cell(kUnknown, "muted");
  }
  std::string markup = escape(format(*value));
  if (spread) {
    markup += fmt::format("<small>{} – {}</small>", escape(format(spread->lowest)),
                          escape(format(spread->highest)));
  }
  return {markup, ""};
}

std::string milliseconds(double value) { return format_ms(value); }
std::string number(double value) { return format_number(value); }

std::string remark_on_rounds(const Results& results) {
  std::size_t most = 0;
  for (const Phase& phase : results.phases) {
    most = std::max(most, phase.rounds.size());
  }
  return most < 2
             ? ""
             : fmt::format(
                   "<p class=\"soft\">The phases were measured by turns, in {} rounds. "
                   "Latencies are those of all rounds together, steps/s the median of the "
                   "rounds. Small: the lowest and the highest round. Others’ CPU: what programs "
                   "that have no part in it took meanwhile, in percent of one CPU.</p>\n",
                   most);
}

// The <h1> and the sentence under it.
std::string headline(const Results& results) {
  const Numbers numbers(results);
  if (numbers.p99_without && numbers.p99_with) {
    return fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", claim(numbers),
                       escape(lead(numbers)));
  }
  if (!results.criteria.empty()) {
    return fmt::format("<h1>{}</h1>\n", count_text(results.criteria));
  }
  return "<h1>What was measured</h1>\n";
}

std::string number_tiles(const Results& results) {
  const Numbers numbers(results);
  if (numbers.with == nullptr) {
    return "";
  }
  std::string tiles;
  if (numbers.p99_with) {
    tiles += latency_tile(numbers);
  }
  tiles += offline_tile(numbers) + preemption_tile(*numbers.with) + intact_tile(*numbers.with);
  return fmt::format("<dl class=\"tiles\">\n{}</dl>\n", tiles);
}

std::string phase_table(const Results& results) {
  if (results.phases.empty()) {
    return "";
  }
  Table table({"Phase", "Requests", "Online p50", "Online p99", "Online max", "Offline steps/s",
               "Preemptions", "Data intact", "Others’ CPU"});
  for (const Phase& phase : results.phases) {
    const Summary latency(phase.online_latency_ms);
    table.row({cell(title_of(phase)), cell(fmt::format("{}", latency.count())),
               measured_cell(latency.quantile(0.5), latency_spread(phase, 0.5), milliseconds),
               measured_cell(latency.quantile(0.99), latency_spread(phase, 0.99), milliseconds),
               measured_cell(latency.max(), std::nullopt, milliseconds),
               measured_cell(phase.offline_steps_per_s, speed_spread(phase), number),
               cell(fmt::format("{}", phase.preemptions)), intact_cell(phase.checksum_ok),
               others_cell(phase)},
              phase.name == kBothWith ? "strong" : "");
  }
  return table.finish() + remark_on_rounds(results);
}

constexpr char kEmulated[] =
    "<p class=\"notice\"><b>Virtual GPU: emulated time.</b> Programs, ROCm and gpreempt are the "
    "real ones; the GPU is emulated on this machine's processor. Compare the numbers with each "
    "other, never with hardware.</p>\n";

// Nothing is fetched: the policy forbids what the page does not need anyhow.
constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"/>
)";

std::string interrupted_notice(const Results& results) {
  return !results.interrupted
             ? ""
             : fmt::format(
                   "<p class=\"notice\"><b>Interrupted</b> {}: what was measured until then."
                   "</p>\n",
                   escape(*results.interrupted));
}

std::string header(const Results& results) {
  const Environment& environment = results.environment;
  return fmt::format(
      "<header>\n<p class=\"brand\"><b>gpreempt</b><span>{}</span><span>{}</span></p>\n{}{}{}"
      "</header>\n",
      escape(environment.device), escape(environment.date), headline(results),
      interrupted_notice(results), environment.virtual_gpu ? kEmulated : "");
}

}  // namespace

std::string html_page(const Results& results) {
  std::string page = kHead;
  page += fmt::format("<title>gpreempt: {}</title>\n<style>{}</style>\n</head>\n<body>\n",
                      escape(results.environment.device), kStyle);
  page += header(results);
  page += "<main>\n";
  page += number_tiles(results);
  page += phase_table(results);
  for (const auto part :
       {verdict_section, latency_section, token_section, timeline_section, throughput_section,
        scheme_section, advice_section, environment_section}) {
    page += part(results);
  }
  page += fmt::format(
      "</main>\n<footer>Made by gpreempt {} from results.json. This file needs no network.</footer>"
      "\n<script>{}</script>\n</body>\n</html>\n",
      escape(results.environment.gpreempt_version), kScript);
  return page;
}

Status write_html(const Results& results, const std::string& path) {
  return write_file(path, html_page(results));
}

Status write_picture(const Results& results, const std::string& path) {
  const std::string svg = picture(results);
  if (svg.empty()) {
    return Error{ENODATA, "these results have no latencies to draw", {}}.with_hint(
        "gpreempt demo measures some");
  }
  return write_file(path, svg);
}

}  // namespace gp::report
