// gpreempt demo: from options to a table, results.json and report.html.
#include "demo/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/exit_code.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/measuring_setup.h"
#include "demo/llama_server.h"
#include "demo/phases.h"
#include "demo/summary.h"
#include "llm/gguf.h"
#include "report/phases.h"
#include "report/report.h"
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
  if (options.llm) {
    words.emplace_back("--llm");
  }
  if (!options.llama_server.empty()) {
    words.insert(words.end(), {"--llama-server", options.llama_server});
  }
  if (!options.model.empty()) {
    words.insert(words.end(), {"--model", options.model});
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

// Percent of one CPU: 140 of 2 CPUs.
std::string others(const std::optional<report::OtherPrograms>& others) {
  return others ? fmt::format("{:.0f}", 100 * report::part_of_cpus(*others) * others->cpus) : "N/A";
}

std::string yes_or_no(const std::optional<bool>& value) {
  return !value ? "" : *value ? "yes" : "NO";
}

// Of a language model: how long the first token took and each further one.
std::string token_table(const report::Results& results) {
  std::vector<Row> rows;
  for (const report::Phase& phase : results.phases) {
    if (phase.tokens) {
      const demo::PhaseSummary summary = demo::summarise(phase);
      const demo::Quantiles &first = summary.first_token_ms, &next = summary.next_token_ms;
      rows.push_back({summary.name, milliseconds(first.p50), milliseconds(first.p99),
                      milliseconds(first.max), milliseconds(next.p50), milliseconds(next.p99),
                      milliseconds(next.max), yes_or_no(summary.texts_equal)});
    }
  }
  return rows.empty() ? ""
                      : "\n" + layout({{"PHASE"},
                                       {"FIRST TOKEN P50 MS", true},
                                       {"P99 MS", true},
                                       {"MAX MS", true},
                                       {"NEXT TOKEN P50 MS", true},
                                       {"P99 MS", true},
                                       {"MAX MS", true},
                                       {"SAME TEXTS"}},
                                      rows);
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
         others(summary.others), yes_or_no(summary.checksum_ok)});
    if (phase.rounds.size() > 1) {
      rows.push_back({"  rounds", milliseconds(report::latency_spread(phase, 0.5)),
                      milliseconds(report::latency_spread(phase, 0.99)), "", "",
                      speed(report::speed_spread(phase)), "", "", ""});
    }
  }
  return layout({{"PHASE"},
                 {"P50 MS", true},
                 {"P99 MS", true},
                 {"MAX MS", true},
                 {"REQUESTS", true},
                 {"STEPS/S", true},
                 {"PREEMPTIONS", true},
                 {"OTHERS %", true},
                 {"INTACT"}},
                rows);
}

Status keep(const report::Results& results, const DemoOptions& options) {
  TRY(report::write_results(results, options.output));
  TRY(report::write_html(results, fmt::format("{}/{}", options.output, report::kPageFile)));
  if (!options.json.empty()) {
    TRY(write_file(options.json, demo::summary_json(results)));
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
  text += ")";
  if (report::is_inconclusive(criterion)) {
    text += fmt::format("; other programs took {}", report::others_text(*criterion.others));
  }
  return text;
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
  fmt::print("{}", token_table(results));
  fmt::print("Others: what other programs took meanwhile, in percent of one CPU.\n\n");
  for (const report::Criterion& criterion : results.criteria) {
    fmt::print("{:<12} {}\n", shown_as(verdict_of(criterion)), criterion_text(criterion));
  }
  if (std::ranges::any_of(results.criteria, report::is_inconclusive)) {
    fmt::print(
        "\nInconclusive is neither ok nor failed: other programs took what the demo needed.\n"
        "Repeat it while nothing else runs.\n");
  }
  fmt::print("\nThe report: {}/{}\n", options.output, report::kPageFile);
}

bool all_well(const report::Results& results) {
  const auto intact = [](const report::Phase& phase) {
    return (phase.name == demo::kOnlineAlone || phase.checksum_ok.value_or(false)) &&
           (!phase.tokens || phase.tokens->texts_equal.value_or(false));
  };
  return std::ranges::all_of(results.phases, intact) &&
         std::ranges::none_of(results.criteria, report::is_missed);
}

// A minute and a half is long if nobody says what is going on.
void announce(const DemoOptions& options) {
  constexpr std::chrono::seconds kPrograms{3};  // that they take to start, each time
  const int times = options.llm ? 9 : 4;        // without gpreempt a language model takes long
  const auto whole = times * (options.duration + options.rounds * kPrograms);
  fmt::print(stderr,
             "A {} (online) and a trainer (offline) use the GPU: each alone, both without\n"
             "gpreempt, both with it; {} {} of that, about {} s in all.\n",
             options.llm ? "llama-server" : "server", options.rounds,
             options.rounds == 1 ? "round" : "rounds",
             std::chrono::duration_cast<std::chrono::seconds>(whole).count());
}

// What can be known before a GPU is there.
Result<std::optional<demo::LlmOptions>> llm_of(const DemoOptions& options) {
  if (!options.llm) {
    return std::optional<demo::LlmOptions>();
  }
  demo::LlmOptions llm;
  llm.llama_server = TRY(demo::find_llama_server(options.llama_server));
  if (!options.model.empty()) {
    TRY(llm::check_is_gguf(options.model));
    llm.model = std::filesystem::absolute(options.model).string();
  }
  return std::optional(llm);
}

}  // namespace

int demo(const DemoOptions& options) {
  const auto llm = llm_of(options);
  if (!llm) {
    return report_error(llm.error());
  }
  const Result<MeasuringSetup> setup =
      prepare_measuring({options.output, options.json}, options.virtual_gpu, words_of(options));
  if (!setup) {
    return report_error(setup.error());
  }
  announce(options);
  auto results = demo::run(setup->programs, {options.duration, options.rounds, options.socket,
                                             setup->end_signals.get(), *llm});
  if (!results) {
    if (results.error().code == EINTR) {
      std::fputs("gpreempt: the demo was ended\n", stderr);
      return exit_failed;
    }
    return report_error(results.error());
  }
  results->environment.gpreempt_version = GPREEMPT_PROJECT_VERSION;
  results->environment.command = fmt::format("gpreempt {}", fmt::join(words_of(options), " "));
  if (const Status kept = keep(*results, options); !kept) {
    return report_error(kept.error());
  }
  print(*results, options);
  return all_well(*results) ? exit_ok : exit_failed;
}

}  // namespace gp::cli
