// gpreempt demo: from options to a table, results.json and report.html.
#include "demo/demo.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/ground.h"
#include "cli/text_table.h"
#include "demo/summary.h"
#include "report/files.h"
#include "report/report.h"
#include "report/verdict.h"

namespace gp::cli {
namespace {

std::vector<std::string> words_of(const DemoOptions& options) {
  std::vector<std::string> words = {"demo", "--output", options.output, "--duration",
                                    fmt::format("{}ms", options.duration.count())};
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

std::string table(const report::Results& results) {
  std::vector<Row> rows;
  for (const report::Phase& phase : results.phases) {
    const demo::PhaseSummary summary = demo::summarise(phase);
    const bool online = summary.requests > 0;
    rows.push_back(
        {summary.name, milliseconds(summary.online_p50_ms), milliseconds(summary.online_p99_ms),
         milliseconds(summary.online_max_ms), online ? std::to_string(summary.requests) : "",
         summary.offline_steps_per_s ? fmt::format("{:.2f}", *summary.offline_steps_per_s) : "",
         online && summary.offline_steps_per_s ? std::to_string(summary.preemptions) : "",
         summary.checksum_ok ? (*summary.checksum_ok ? "yes" : "NO") : ""});
  }
  return layout({{"PHASE"},
                 {"P50 MS", true},
                 {"P99 MS", true},
                 {"MAX MS", true},
                 {"REQUESTS", true},
                 {"OFFLINE STEPS/S", true},
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
  fmt::print("\n{}\n", table(results));
  for (const report::Criterion& criterion : results.criteria) {
    fmt::print("{:<6} {}\n", report::is_met(criterion) ? "ok" : "FAILED",
               criterion_text(criterion));
  }
  fmt::print("\n{}/{}\n", options.output, report::kPageFile);
}

bool all_intact(const report::Results& results) {
  bool intact = true;
  for (const report::Phase& phase : results.phases) {
    intact &= !phase.offline_steps_per_s || phase.checksum_ok.value_or(false);
  }
  return intact;
}

}  // namespace

int demo(const DemoOptions& options) {
  const Result<Ground> ground =
      find_ground({options.output, options.json}, options.virtual_gpu, words_of(options));
  if (!ground) {
    return report(ground.error());
  }
  auto results =
      demo::run(ground->places, {options.duration, options.socket, ground->end_signals.get()});
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
  return all_intact(*results) ? exit_ok : exit_failed;
}

}  // namespace gp::cli
