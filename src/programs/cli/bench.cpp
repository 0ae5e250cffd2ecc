// gpreempt bench: scenarios with pass criteria, a table, results.json and report.html.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/exit_code.h"
#include "bench/floods.h"
#include "bench/scenario.h"
#include "cli/bench_output.h"
#include "cli/commands.h"
#include "cli/measuring_setup.h"
#include "demo/demo.h"
#include "demo/environment.h"
#include "demo/llama_server.h"
#include "demo/progress.h"
#include "report/report.h"
#include "report/verdict.h"

namespace gp::cli {
namespace {

std::vector<std::string> words_of(const BenchOptions& options) {
  std::vector<std::string> words = {"bench"};
  words.insert(words.end(), options.scenarios.begin(), options.scenarios.end());
  words.insert(words.end(), {"--output", options.output});
  if (options.duration) {
    words.insert(words.end(), {"--duration", fmt::format("{}ms", options.duration->count())});
  }
  if (options.full) {
    words.emplace_back("--full");
  }
  if (!options.json.empty()) {
    words.insert(words.end(), {"--json", options.json});
  }
  if (!options.llama_server.empty()) {
    words.insert(words.end(), {"--llama-server", options.llama_server});
  }
  return words;
}

int list() {
  for (const bench::Scenario& scenario : bench::scenarios()) {
    fmt::print("{:<11} {}\n", scenario.name, scenario.what);
  }
  return exit_ok;
}

Result<std::vector<const bench::Scenario*>> chosen(const std::vector<std::string>& names) {
  std::vector<const bench::Scenario*> result;
  for (const bench::Scenario& scenario : bench::scenarios()) {
    if (names.empty() || std::ranges::count(names, scenario.name) != 0) {
      result.push_back(&scenario);
    }
  }
  for (const std::string& name : names) {
    if (std::ranges::none_of(result, [&](const auto* each) { return each->name == name; })) {
      return Error{EINVAL, fmt::format("there is no scenario '{}'", name), "gpreempt bench --list"};
    }
  }
  return result;
}

Status run_all(const std::vector<const bench::Scenario*>& scenarios, const bench::Context& context,
               demo::Progress& progress, report::Results& results) {
  for (const bench::Scenario* scenario : scenarios) {
    bench::Outcome outcome = TRY(bench::run(*scenario, context, progress));
    std::ranges::move(outcome.criteria, std::back_inserter(results.criteria));
    std::ranges::move(outcome.schemes, std::back_inserter(results.schemes));
    std::ranges::move(outcome.lingers, std::back_inserter(results.lingers));
    if (outcome.batching) {
      results.batching = std::move(outcome.batching);
    }
    if (outcome.reservation) {
      results.reservation = std::move(outcome.reservation);
    }
  }
  return ok();
}

// Who asks for all scenarios has not asked for a llama-server.
void leave_out_llm_if_absent(demo::Progress& progress,
                             std::vector<const bench::Scenario*>& scenarios) {
  if (const auto found = demo::find_llama_server(""); !found) {
    std::erase_if(scenarios, [](const auto* each) { return each->run == bench::run_llm; });
    progress.say(fmt::format("{} is left out: {}", bench::kLlm, found.error().message()));
  }
}

// Nor has one who is not root asked for another user's processes.
void leave_out_hostile_if_impossible(demo::Progress& progress,
                                     std::vector<const bench::Scenario*>& scenarios) {
  if (!bench::Attack::is_possible()) {
    std::erase_if(scenarios, [](const auto* each) { return each->run == bench::run_hostile; });
    progress.say(fmt::format("{} is left out: it needs root", bench::kHostile));
  }
}

Status measure(const demo::Programs& programs, const BenchOptions& options, int end_signals,
               report::Results& results) {
  auto scenarios = TRY(chosen(options.scenarios));
  const demo::ScratchDirectory scratch = TRY(demo::ScratchDirectory::create());
  demo::Progress progress;
  const demo::Waiter waiter(end_signals, progress);
  if (options.scenarios.empty() && options.llama_server.empty()) {
    leave_out_llm_if_absent(progress, scenarios);
  }
  if (options.scenarios.empty()) {
    leave_out_hostile_if_impossible(progress, scenarios);
  }
  const bool virtual_gpu = demo::on_virtual_gpu();
  const bench::Launcher launcher(programs, scratch, waiter, virtual_gpu);
  results.environment = demo::describe_environment(virtual_gpu);
  results.environment.gpreempt_version = GPREEMPT_PROJECT_VERSION;
  results.environment.command = fmt::format("gpreempt {}", fmt::join(words_of(options), " "));
  return run_all(scenarios,
                 {launcher, virtual_gpu, options.full ? bench::Extent::full : bench::Extent::brief,
                  options.duration, options.llama_server},
                 progress, results);
}

Status keep(const report::Results& results, const BenchOptions& options) {
  TRY(report::write_results(results, options.output));
  if (!options.json.empty()) {
    TRY(write_file(options.json, TRY(bench_json(results))));
  }
  return report::write_html(results, fmt::format("{}/{}", options.output, report::kPageFile));
}

}  // namespace

int bench(const BenchOptions& options) {
  if (options.list) {
    return list();
  }
  if (const auto known = chosen(options.scenarios); !known) {
    return report_error(known.error());
  }
  const Result<MeasuringSetup> setup =
      prepare_measuring({options.output, options.json}, options.virtual_gpu, words_of(options),
                        {"--kernel-patches"});  // the scheme `kernel` needs them
  if (!setup) {
    return report_error(setup.error());
  }
  report::Results results;
  if (const Status measured = measure(setup->programs, options, setup->end_signals.get(), results);
      !measured) {
    return report_error(measured.error());
  }
  if (const Status kept = keep(results, options); !kept) {
    return report_error(kept.error());
  }
  fmt::print("\n{} on {}, {} cores\n\n", results.environment.device, results.environment.cpu,
             results.environment.cores);
  std::fputs(bench_text(results).c_str(), stdout);
  fmt::print("{}/{}\n", options.output, report::kPageFile);
  return std::ranges::none_of(results.criteria, report::is_missed) ? exit_ok : exit_failed;
}

}  // namespace gp::cli
