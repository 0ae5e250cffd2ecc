// gpreempt demo: from options to a table, results.json and report.html.
#include "demo/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/ground.h"
#include "cli/text_table.h"
#include "demo/phases.h"
#include "demo/summary.h"
#include "report/files.h"
#include "report/report.h"
#include "report/rounds.h"
#include "report/verdict.h"

namespace gp::cli {
namespace {

std::vector<std::string> words_of(const DemoOptions& options) {
  const DemoOptions usual;
  std::vector<std::string> words = {"demo"};
  if (options.output != usual.output) {
    words.insert(words.end(), {"--output", options.output});
  }
  if (options.duration != usual.duration) {
    words.insert(words.end(), {"--duration", fmt::format("{}ms", options.duration.count())});
  }
  if (options.rounds != usual.rounds) {
    words.insert(words.end(), {"--rounds", std::to_string(options.rounds)});
  }
  if (!options.json.empty()) {
    words.insert(words.end(), {"--json", options.json});
  }
  if (!options.socket.empty()) {
    words.insert(words.end(), {"--socket", options.socket});
  }
  return words;
}

std::string milliseconds(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value) : "";
}

std::string milliseconds(const std::optional<report::Spread>& spread) {
  return spread ? fmt::format("{:.1f}-{:.1f}", spread->lowest, spread->highest) : "";
}

std::string speed(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "";
}

std::string speed(const std::optional<report::Spread>& spread) {
  return spread ? fmt::format("{:.2f}-{:.2f}", spread->lowest, spread->highest) : "";
}

std::string table(const report::Results& results) {
  std::vector<Row> rows;
  for (const report::Phase& phase : results.phases) {
    const demo::PhaseSummary summary = demo::summarise(phase);
    const bool online = summary.requests > 0;
    rows.push_back(
        {summary.name, milliseconds(summary.online_p50_ms), milliseconds(summary.online_p99_ms),
         milliseconds(summary.online_max_ms), online ? std::to_string(summary.requests) : "",
         speed(summary.offline_steps_per_s),
         online && summary.offline_steps_per_s ? std::to_string(summary.preemptions) : "",
         summary.checksum_ok ? (*summary.checksum_ok ? "yes" : "NO") : ""});
    if (phase.rounds.size() > 1) {
      rows.push_back({"  rounds", milliseconds(report::latency_spread(phase, 0.5)),
                      milliseconds(report::latency_spread(phase, 0.99)), "", "",
                      speed(report::speed_spread(phase)), "", ""});
    }
  }
  return layout({{"PHASE"},
                 {"P50 MS", true},
                 {"P99 MS", true},
                 {"MAX MS", true},
                 {"REQUESTS", true},
                 {"STEPS/S", true},
                 {"PREEMPTIONS", true},
                 {"DATA INTACT"}},
                rows);
}

Status keep(const report::Results& results, const DemoOptions& options) {
  TRY(report::write_results(results, options.output));
  TRY(report::write_html(results, fmt::format("{}/{}", options.output, report::kPageFile)));
  if (!options.json.empty()) {
    TRY(report::write_file(options.json, demo::summary_json(results)));
  }
  return ok();
}

std::string criterion_text(const report::Criterion& criterion) {
  std::string text =
      fmt::format("{}: {} {} (at {} {:g}", criterion.what,
                  criterion.value ? fmt::format("{:.3g}", *criterion.value) : "N/A", criterion.unit,
                  criterion.at_least ? "least" : "most", criterion.limit);
  if (criterion.noise) {
    text += fmt::format("; noise here {:.3g} {}", *criterion.noise, criterion.unit);
  }
  return text + ")";
}

void print(const report::Results& results, const DemoOptions& options) {
  const report::Environment& environment = results.environment;
  fmt::print("\n{} on {}, {} cores\n", environment.device, environment.cpu, environment.cores);
  if (environment.virtual_gpu) {
    fmt::print("The virtual GPU is an interpreter: its times are not those of hardware.\n");
  }
  fmt::print("\n{}", table(results));
  if (options.rounds > 1) {
    fmt::print(
        "Latencies of all {} rounds together, steps/s their median; rounds: lowest-highest.\n",
        options.rounds);
  }
  fmt::print("\n");
  for (const report::Criterion& criterion : results.criteria) {
    fmt::print("{:<6} {}\n", report::is_met(criterion) ? "ok" : "FAILED",
               criterion_text(criterion));
  }
  fmt::print("\nThe report: {}/{}\n", options.output, report::kPageFile);
}

bool all_well(const report::Results& results) {
  const auto intact = [](const report::Phase& phase) {
    return phase.name == demo::kOnlineAlone || phase.checksum_ok.value_or(false);
  };
  return std::ranges::all_of(results.phases, intact) &&
         std::ranges::all_of(results.criteria, report::is_met);
}

// A minute and a half is long if nobody says what is going on.
void announce(const DemoOptions& options) {
  constexpr std::chrono::seconds kPrograms{3};  // that they take to start, each time
  const auto whole = 4 * (options.duration + options.rounds * kPrograms);
  fmt::print(stderr,
             "A server (online) and a trainer (offline) use the GPU: each alone, both without\n"
             "gpreempt, both with it; {} {} of that, about {} s in all.\n",
             options.rounds, options.rounds == 1 ? "round" : "rounds",
             std::chrono::duration_cast<std::chrono::seconds>(whole).count());
}

}  // namespace

int demo(const DemoOptions& options) {
  const Result<Ground> ground =
      find_ground({options.output, options.json}, options.virtual_gpu, words_of(options));
  if (!ground) {
    return report(ground.error());
  }
  announce(options);
  auto results = demo::run(ground->places, {options.duration, options.rounds, options.socket,
                                            ground->end_signals.get()});
  if (!results) {
    if (results.error().code == EINTR) {
      std::fputs("gpreempt: the demo was ended\n", stderr);
      return exit_failed;
    }
    return report(results.error());
  }
  results->environment.gpreempt_version = GPREEMPT_PROJECT_VERSION;
  results->environment.command = fmt::format("gpreempt {}", fmt::join(words_of(options), " "));
  if (const Status kept = keep(*results, options); !kept) {
    return report(kept.error());
  }
  print(*results, options);
  return all_well(*results) ? exit_ok : exit_failed;
}

}  // namespace gp::cli
