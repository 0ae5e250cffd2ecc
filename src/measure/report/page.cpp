#include "report/headline.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/format.h"
#include "report/html.h"
#include "report/phase_names.h"
#include "report/rounds.h"
#include "report/statistics.h"
#include "report/table.h"
#include "report/verdict.h"

namespace gp::report {
namespace {

// What the first lines speak of; each may be missing.
struct Numbers {
  std::optional<double> p99_alone, p99_without, p99_with;
  std::optional<double> offline_alone, offline_with;
  const Phase* with = nullptr;

  explicit Numbers(const Results& results) : with(find_phase(results, "both-with")) {
    const auto p99 = [&](const char* name) -> std::optional<double> {
      const Phase* phase = find_phase(results, name);
      return phase == nullptr ? std::nullopt : Summary(phase->online_latency_ms).quantile(0.99);
    };
    p99_alone = p99("online-alone");
    p99_without = p99("both-without");
    p99_with = p99("both-with");
    if (const Phase* alone = find_phase(results, "offline-alone")) {
      offline_alone = alone->offline_steps_per_s;
    }
    offline_with = with == nullptr ? std::nullopt : with->offline_steps_per_s;
  }
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

std::string tile(const std::string& name, const std::string& value, const std::string& remark,
                 const std::string& classes = "") {
  return fmt::format("<div><dt>{}</dt><dd class=\"{}\">{}<small>{}</small></dd></div>\n",
                     escape(name), classes, escape(value), escape(remark));
}

std::string latency_tile(const Numbers& numbers) {
  std::string remark = "with gpreempt";
  if (numbers.p99_without && *numbers.p99_with > 0) {
    remark = fmt::format("{} without gpreempt ({})", format_ms(numbers.p99_without),
                         format_factor(*numbers.p99_without / *numbers.p99_with));
  } else if (numbers.p99_alone) {
    remark = fmt::format("{} alone", format_ms(numbers.p99_alone));
  }
  return tile("Online p99 beside offline", format_ms(numbers.p99_with), remark);
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
  return most < 2 ? ""
                  : fmt::format(
                        "<p class=\"soft\">The phases were measured by turns, in {} rounds. "
                        "Latencies are those of all rounds together, steps/s the median of the "
                        "rounds. Small: the lowest and the highest round.</p>\n",
                        most);
}

}  // namespace

std::string headline(const Results& results) {
  const Numbers numbers(results);
  if (numbers.p99_without && numbers.p99_with) {
    return fmt::format(
        "<h1>Beside offline work, online p99 {} from {} to <em>{}</em></h1>\n"
        "<p class=\"lead\">{}</p>\n",
        *numbers.p99_with < *numbers.p99_without ? "falls" : "goes", format_ms(numbers.p99_without),
        format_ms(numbers.p99_with), escape(lead(numbers)));
  }
  if (!results.criteria.empty()) {
    return fmt::format("<h1>{} of {} criteria met</h1>\n", count_met(results.criteria),
                       results.criteria.size());
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
               "Preemptions", "Data intact"});
  for (const Phase& phase : results.phases) {
    const Summary latency(phase.online_latency_ms);
    table.row({cell(title_of(phase)), cell(fmt::format("{}", latency.count())),
               measured_cell(latency.quantile(0.5), latency_spread(phase, 0.5), milliseconds),
               measured_cell(latency.quantile(0.99), latency_spread(phase, 0.99), milliseconds),
               measured_cell(latency.max(), std::nullopt, milliseconds),
               measured_cell(phase.offline_steps_per_s, speed_spread(phase), number),
               cell(fmt::format("{}", phase.preemptions)), intact_cell(phase.checksum_ok)},
              phase.name == "both-with" ? "strong" : "");
  }
  return table.finish() + remark_on_rounds(results);
}

}  // namespace gp::report
