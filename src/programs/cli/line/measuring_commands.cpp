// demo, bench, verify, report: what this machine does with and without gpreempt.
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
  gpreempt demo --llm                       a language model answers while the trainer trains

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

constexpr char kVerifyExamples[] = R"(Examples:
  gpreempt verify --quick                   two minutes: does it work here at all?
  gpreempt verify                           half an hour, and one archive to send
  gpreempt verify --gpu 3 --soak 4h         the fourth GPU, and four hours of load after that
  gpreempt verify --container trainer       where ROCm is, in a container that runs
  gpreempt verify --virtual-gpu --quick     without a GPU, to see what it does

Run it where ROCm is: in the container, if ROCm lives in one. It starts GPU programs and a daemon of
its own, stops and starts those programs in every way that may work here, checks that nothing is
lost, and measures. It touches nobody else's processes and leaves nothing behind but its results; a
GPU that others use is left alone without --yes. Ctrl-C at any moment is safe.
Exit status: 0 all met, 1 something missed, 3 no GPU, 4 no rights, 5 nothing can stop a kernel here.)";

constexpr char kReportExamples[] = R"(Examples:
  gpreempt report results                   results/results.json -> results/report.html
  gpreempt report results --output /tmp/report.html
  gpreempt report results --picture latency.svg      for a README or a slide
  gpreempt report --compare A.tar.gz B.tar.gz        two runs of verify, side by side

The page needs nothing beside it: it can be mailed, printed, and read without a network.)";

Result<std::chrono::milliseconds> parse_phase(const std::string& text) {
  const auto duration = std::chrono::nanoseconds(TRY(parse_duration_ns(text)));
  if (duration < std::chrono::seconds(1) || duration > std::chrono::minutes(1)) {
    return Error{EINVAL, fmt::format("'{}' is not the length of a phase", text), "1s to 1min"};
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

Result<std::chrono::milliseconds> parse_soak(const std::string& text) {
  constexpr u64 kNsPerHour = 3'600'000'000'000;
  if (text.ends_with('h')) {
    const u64 hours = TRY(parse_number(text.substr(0, text.size() - 1), 1, 24 * 14));
    return std::chrono::milliseconds(hours * (kNsPerHour / 1'000'000));
  }
  return parse_measuring_time(text);
}

Result<unsigned> parse_stops(const std::string& text) {
  return static_cast<unsigned>(TRY(parse_number(text, 1, 100'000)));
}

Result<unsigned> parse_gpu(const std::string& text) {
  return static_cast<unsigned>(TRY(parse_number(text, 0, 1023)));
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
  CLI::Option* llm = command.add_flag("--llm", options->llm,
                                      "The online program is llama-server, with a language model");
  command.add_option("--llama-server", options->llama_server, "Which one (default: that in PATH)")
      ->type_name("PATH")
      ->needs(llm);
  command.add_option("--model", options->model, "A GGUF file (default: a small one is made)")
      ->type_name("FILE")
      ->needs(llm);
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
  command.add_option("--llama-server", options->llama_server, "For llm (default: that in PATH)")
      ->type_name("PATH");
  command.footer(kBenchExamples);
  command.callback([options, &chosen] { chosen = [options] { return bench(*options); }; });
}

void add_verify(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App& command =
      *app.add_subcommand("verify", "Does gpreempt work on this machine? With proof to send");
  add_parsed(command, "--gpu", "N", "Which GPU, counted from 0 (default: 0)", options->gpu,
             parse_gpu);
  command.add_flag("--quick", options->quick, "Two minutes rather than thirty");
  add_parsed(command, "--soak", "TIME", "And online beside offline for so long: 4h, 30min",
             options->soak, parse_soak);
  add_parsed(command, "--rounds", "N", "Only N stops each, of few queues: to see it at work",
             options->rounds, parse_stops);
  command.add_option("--step", options->steps, "Only this one; may be given again")
      ->type_name("NAME")
      ->take_all();
  command.add_flag("--yes", options->yes, "Though others use the GPU, or a gpreemptd runs");
  command.add_flag("--anonymous", options->anonymous, "Leave out the names of host and user");
  command
      .add_option("--output", options->output,
                  "For the results (default: gpreempt-verify-HOST-DATE); the archive is beside it")
      ->type_name("DIR");
  command
      .add_option("--container", options->container,
                  "In this container, which runs, by docker or podman: where ROCm is not here")
      ->type_name("NAME");
  command.add_flag("--virtual-gpu", options->virtual_gpu, "On a virtual GPU, even if there is one");
  command.footer(kVerifyExamples);
  command.callback([options, &chosen] { chosen = [options] { return verify(*options); }; });
}

void add_report(CLI::App& app, Chosen& chosen) {
  struct Options {
    std::string directory, output, picture;
    std::vector<std::string> compared;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("report", "Make a page of what was measured");
  CLI::Option* directory =
      command.add_option("directory", options->directory, "Where results.json is")
          ->type_name("DIR");
  CLI::Option* compare =
      command
          .add_option("--compare", options->compared, "Two directories or archives, side by side")
          ->type_name("A B")
          ->expected(2)
          ->excludes(directory);
  command.add_option("--output", options->output, "The page (default: DIR/report.html)")
      ->type_name("FILE");
  command.add_option("--picture", options->picture, "Also the result in one picture (SVG)")
      ->type_name("FILE");
  command.footer(kReportExamples);
  command.callback([options, directory, compare, &chosen] {
    if (directory->empty() && compare->empty()) {
      throw CLI::RequiredError("directory or --compare");
    }
    chosen = [options] {
      if (!options->compared.empty()) {
        return compare_results(options->compared[0], options->compared[1]);
      }
      return report_page(options->directory, options->output, options->picture);
    };
  });
}

}  // namespace

void add_measuring_commands(CLI::App& app, Chosen& chosen) {
  add_demo(app, chosen);
  add_bench(app, chosen);
  add_verify(app, chosen);
  add_report(app, chosen);
}

}  // namespace gp::cli
