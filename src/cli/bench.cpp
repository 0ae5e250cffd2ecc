// gpreempt bench: scenarios with pass criteria, a table, results.json and report.html.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/scenario.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/ground.h"
#include "cli/text_table.h"
#include "demo/demo.h"
#include "demo/progress.h"
#include "demo/surroundings.h"
#include "report/files.h"
#include "report/report.h"

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

bool passed(const report::Criterion& criterion) {
  return criterion.value && (criterion.at_least ? *criterion.value >= criterion.limit
                                                : *criterion.value <= criterion.limit);
}

std::string value_text(const report::Criterion& criterion) {
  return criterion.value ? fmt::format("{:.4g} {}", *criterion.value, criterion.unit) : "N/A";
}

void print_criteria(const std::vector<report::Criterion>& criteria) {
  std::vector<Row> rows;
  for (const report::Criterion& each : criteria) {
    rows.push_back({passed(each) ? "ok" : "FAILED", each.scenario, each.what, value_text(each),
                    fmt::format("{} {:.4g}", each.at_least ? ">=" : "<=", each.limit),
                    each.noise ? fmt::format("{:.3g}", *each.noise) : ""});
  }
  const std::string text = layout(
      {{""}, {"SCENARIO"}, {"WHAT"}, {"MEASURED", true}, {"ASKED", true}, {"NOISE", true}}, rows);
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  fmt::print("{}\n", line);
  for (const report::Criterion& each : criteria) {
    std::getline(lines, line);
    fmt::print("{}\n", line);
    if (!each.note.empty()) {
      fmt::print("          {}\n", each.note);
    }
  }
}

void print_schemes(const std::vector<report::Scheme>& schemes) {
  if (schemes.empty()) {
    return;
  }
  std::vector<Row> rows;
  for (const report::Scheme& each : schemes) {
    const bool measured = each.online_p50_ms > 0;
    const auto number = [&](double value, int digits) {
      return measured ? fmt::format("{:.{}f}", value, digits) : "";
    };
    rows.push_back({each.mechanism, each.level > 0 ? std::to_string(each.level) : "",
                    each.level > 0 ? number(each.stop_p50_us, 0) : "",
                    each.level > 0 ? number(each.start_p50_us, 0) : "",
                    number(each.online_p50_ms, 2), number(each.online_p99_ms, 2),
                    number(each.offline_steps_per_s, 2), each.note});
  }
  fmt::print("{}\n", layout({{"MECHANISM"},
                             {"LEVEL", true},
                             {"STOP US", true},
                             {"START US", true},
                             {"ONLINE P50 MS", true},
                             {"P99 MS", true},
                             {"OFFLINE STEPS/S", true},
                             {"NOTE"}},
                            rows));
}

// One scenario's failure is a criterion that has not passed; the others go on.
Status run_all(const std::vector<const bench::Scenario*>& scenarios, const bench::Context& context,
               demo::Progress& progress, report::Results& results) {
  for (const bench::Scenario* scenario : scenarios) {
    progress.begin(scenario->name);
    auto outcome = scenario->run(context);
    if (!outcome && outcome.error().code == EINTR) {
      return outcome.error();
    }
    if (!outcome) {
      report::Criterion failed;
      failed.scenario = scenario->name;
      failed.what = "runs to its end";
      failed.note = outcome.error().message();
      failed.at_least = true;
      failed.limit = 1;
      results.criteria.push_back(std::move(failed));
      progress.done("failed");
      continue;
    }
    progress.done(std::ranges::all_of(outcome->criteria, passed) ? "ok" : "FAILED");
    std::ranges::move(outcome->criteria, std::back_inserter(results.criteria));
    std::ranges::move(outcome->schemes, std::back_inserter(results.schemes));
  }
  return ok();
}

Status measure(const demo::Places& places, const BenchOptions& options, int end_signals,
               report::Results& results) {
  const auto scenarios = TRY(chosen(options.scenarios));
  const demo::ScratchDirectory scratch = TRY(demo::ScratchDirectory::create());
  demo::Progress progress;
  const demo::Stage stage(end_signals, progress);
  const bench::Actors actors(places, scratch, stage);
  const bool virtual_gpu = demo::on_virtual_gpu();
  results.environment = demo::describe_surroundings(virtual_gpu);
  results.environment.gpreempt_version = GPREEMPT_PROJECT_VERSION;
  results.environment.command = fmt::format("gpreempt {}", fmt::join(words_of(options), " "));
  return run_all(scenarios,
                 {actors, virtual_gpu, options.full ? bench::Extent::full : bench::Extent::brief,
                  options.duration},
                 progress, results);
}

// schema_version, virtual_gpu, criteria[] {scenario, what, unit, limit, at_least, value, noise,
// passed, note}, schemes[]. Unknown is null.
std::string criteria_json(const report::Results& results) {
  nlohmann::json criteria = nlohmann::json::array(), schemes = nlohmann::json::array();
  const auto or_null = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  for (const report::Criterion& each : results.criteria) {
    criteria.push_back({{"scenario", each.scenario},
                        {"what", each.what},
                        {"unit", each.unit},
                        {"limit", each.limit},
                        {"at_least", each.at_least},
                        {"value", or_null(each.value)},
                        {"noise", or_null(each.noise)},
                        {"passed", passed(each)},
                        {"note", each.note}});
  }
  for (const report::Scheme& each : results.schemes) {
    schemes.push_back({{"mechanism", each.mechanism},
                       {"level", each.level},
                       {"stop_p50_us", each.stop_p50_us},
                       {"start_p50_us", each.start_p50_us},
                       {"online_p50_ms", each.online_p50_ms},
                       {"online_p99_ms", each.online_p99_ms},
                       {"offline_steps_per_s", each.offline_steps_per_s},
                       {"note", each.note}});
  }
  const nlohmann::json all = {{"schema_version", 1},
                              {"virtual_gpu", results.environment.virtual_gpu},
                              {"criteria", criteria},
                              {"schemes", schemes}};
  return all.dump(1) + "\n";
}

Status keep(const report::Results& results, const BenchOptions& options) {
  TRY(report::write_results(results, options.output));
  if (!options.json.empty()) {
    TRY(report::write_file(options.json, criteria_json(results)));
  }
  return report::write_html(results, fmt::format("{}/{}", options.output, report::kPageFile));
}

}  // namespace

int bench(const BenchOptions& options) {
  if (options.list) {
    return list();
  }
  if (const auto known = chosen(options.scenarios); !known) {
    return report(known.error());
  }
  const Result<Ground> ground =
      find_ground({options.output, options.json}, options.virtual_gpu, words_of(options));
  if (!ground) {
    return report(ground.error());
  }
  report::Results results;
  if (const Status measured = measure(ground->places, options, ground->end_signals.get(), results);
      !measured) {
    return report(measured.error());
  }
  if (const Status kept = keep(results, options); !kept) {
    return report(kept.error());
  }
  fmt::print("\n{} on {}, {} cores\n\n", results.environment.device, results.environment.cpu,
             results.environment.cores);
  print_schemes(results.schemes);
  print_criteria(results.criteria);
  fmt::print("{}/{}\n", options.output, report::kPageFile);
  return std::ranges::all_of(results.criteria, passed) ? exit_ok : exit_failed;
}

}  // namespace gp::cli
