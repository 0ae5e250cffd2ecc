// demo, bench, report: what this machine does with and without gpreempt.
#include <memory>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/line/line.h"
#include "cli/line/option.h"

namespace gp::cli {
namespace {

constexpr char kDemoExamples[] = R"(Examples:
  gpreempt demo                             four phases, a table, gpreempt-demo/report.html
  gpreempt demo --json phases.json --output /tmp/demo
  gpreempt demo --virtual-gpu               even if there is a GPU

A server (online) and a trainer (offline) run alone, both without gpreempt, both with it: three
rounds of that, under two minutes in all. Without a GPU it starts a virtual one and a daemon of its
own, and leaves neither behind. What other programs on this machine may have spoilt is measured
again and, if that does not help, inconclusive.)";

constexpr char kBenchExamples[] = R"(Examples:
  gpreempt bench                            all scenarios, their short forms
  gpreempt bench --list
  gpreempt bench beside throughput          these two
  gpreempt bench stability --full --duration 1h

Each scenario has criteria. One that is not met is printed as FAILED with its number, and the exit
code is 1; inconclusive is what other programs on this machine may have spoilt. NOISE is how far two like runs were apart on this machine.)";

constexpr char kReportExamples[] = R"(Examples:
  gpreempt report results                   results/results.json -> results/report.html
  gpreempt report results --output /tmp/report.html
  gpreempt report results --picture latency.svg      for a README or a slide

The page needs nothing beside it: it can be mailed, printed, and read without a network.)";

Result<std::chrono::milliseconds> parse_phase(const std::string& text) {
  const auto duration = std::chrono::nanoseconds(TRY(parse_duration_ns(text)));
  if (duration < std::chrono::seconds(1) || duration > std::chrono::minutes(1)) {
    return Error{EINVAL, fmt::format("'{}' is not the length of a phase", text), "1s to 1min"};
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

Result<unsigned> parse_rounds(const std::string& text) {
  return static_cast<unsigned>(TRY(parse_number(text, 1, 20)));
}

void add_demo(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<DemoOptions>();
  CLI::App& command =
      *app.add_subcommand("demo", "See it work: two programs share a GPU, or a virtual one");
  command.add_option("--output", options->output, "Where results.json and report.html go")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_option("--json", options->json, "Write the table there, as JSON")->type_name("FILE");
  add_parsed(command, "--duration", "TIME",
             "Length of each phase, all rounds together (default: 15s)", options->duration,
             parse_phase);
  add_parsed(command, "--rounds", "N", "The phases take turns so many times (default: 3)",
             options->rounds, parse_rounds);
  command.add_flag("--virtual-gpu", options->virtual_gpu,
                   "Not the GPU that is there, a virtual one");
  command.add_option("--socket", options->socket, "Use the daemon that listens there")
      ->type_name("PATH");
  command.footer(kDemoExamples);
  command.callback([options, &chosen] { chosen = [options] { return demo(*options); }; });
}

void add_bench(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App& command = *app.add_subcommand("bench", "Measure this machine, scenario by scenario");
  command.add_option("scenario", options->scenarios, "All if none is named")->type_name("");
  command.add_flag("--list", options->list, "Name the scenarios");
  command.add_flag("--full", options->full, "Their long forms: an hour and more in all");
  add_parsed(command, "--duration", "TIME", "Of each scenario's main part", options->duration,
             parse_measuring_time);
  command.add_option("--output", options->output, "For results.json and report.html")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_option("--json", options->json, "The criteria, machine-readable")->type_name("FILE");
  command.add_flag("--virtual-gpu", options->virtual_gpu, "Even if there is a GPU");
  command.footer(kBenchExamples);
  command.callback([options, &chosen] { chosen = [options] { return bench(*options); }; });
}

void add_report(CLI::App& app, Chosen& chosen) {
  struct Options {
    std::string directory, output, picture;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("report", "Make a page of what was measured");
  command.add_option("directory", options->directory, "Where results.json is")
      ->type_name("DIR")
      ->required();
  command.add_option("--output", options->output, "The page (default: DIR/report.html)")
      ->type_name("FILE");
  command.add_option("--picture", options->picture, "Also the result in one picture (SVG)")
      ->type_name("FILE");
  command.footer(kReportExamples);
  command.callback([options, &chosen] {
    chosen = [options] {
      return report_page(options->directory, options->output, options->picture);
    };
  });
}

}  // namespace

void add_measuring_commands(CLI::App& app, Chosen& chosen) {
  add_demo(app, chosen);
  add_bench(app, chosen);
  add_report(app, chosen);
}

}  // namespace gp::cli
