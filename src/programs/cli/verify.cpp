// gpreempt verify: does gpreempt work on this machine? A table, results.json, report.html and one
// archive to send. docs/verify.md has its design.
#include "verify/verify.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>

#include "base/exit_code.h"
#include "bench/driver_log.h"
#include "cli/bench_output.h"
#include "cli/commands.h"
#include "cli/diagnosis.h"
#include "cli/in_container.h"
#include "cli/measuring_setup.h"
#include "cli/system.h"
#include "demo/demo.h"
#include "demo/environment.h"
#include "report/report.h"
#include "report/verdict.h"
#include "verify/evidence.h"
#include "verify/judge.h"
#include "verify/steps.h"

namespace gp::cli {
namespace {

using verify::File;

std::vector<std::string> words_of(const VerifyOptions& options) {
  std::vector<std::string> words = {"verify", "--output", options.output};
  const auto add_if = [&](bool is, std::initializer_list<std::string> more) {
    if (is) {
      words.insert(words.end(), more);
    }
  };
  add_if(options.gpu != 0, {"--gpu", std::to_string(options.gpu)});
  add_if(options.yes, {"--yes"});
  add_if(options.quick, {"--quick"});
  add_if(options.anonymous, {"--anonymous"});
  add_if(options.rounds.has_value(), {"--rounds", std::to_string(options.rounds.value_or(0))});
  for (const std::string& step : options.steps) {
    add_if(true, {"--step", step});
  }
  if (options.soak) {
    add_if(true, {"--soak", fmt::format("{}ms", options.soak->count())});
  }
  return words;
}

verify::Extent extent_of(const VerifyOptions& options) {
  verify::Extent extent = options.rounds  ? verify::Extent::of_rounds(*options.rounds)
                          : options.quick ? verify::Extent::quick()
                                          : verify::Extent::full();
  extent.soak = options.soak;
  extent.steps = options.steps;
  return extent;
}

Status check_steps(const VerifyOptions& options) {
  std::string known;
  for (const verify::Step& step : verify::steps()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", step.name);
  }
  for (const std::string& name : options.steps) {
    if (std::ranges::none_of(verify::steps(),
                             [&](const auto& each) { return each.name == name; })) {
      return Error{EINVAL, fmt::format("there is no step '{}'", name), known};
    }
    if (name == "soak" && !options.soak) {
      return Error{EINVAL, "the step soak needs a time", "--soak 4h"};
    }
  }
  return ok();
}

// Where nobody has said: by host and date, so that archives of several machines can meet.
std::string output_of(const VerifyOptions& options) {
  return !options.output.empty() ? options.output
                                 : fmt::format("gpreempt-verify-{}-{:%Y%m%d-%H%M}",
                                               options.anonymous ? "host" : verify::host_name(),
                                               fmt::gmtime(std::time(nullptr)));
}

Result<discover::Node> choose(const std::vector<discover::Node>& nodes, unsigned gpu) {
  if (nodes.empty()) {
    return Error{ENODEV, "the driver has no GPU", "gpreempt doctor says more"};
  }
  if (gpu >= nodes.size()) {
    return Error{EINVAL, fmt::format("there is no GPU {}", gpu),
                 fmt::format("--gpu 0 to {}", nodes.size() - 1)};
  }
  return nodes[gpu];
}

// By the numbers that --gpu takes; empty: none.
std::string free_gpus(const discover::Snapshot& snapshot) {
  std::string text;
  for (std::size_t number = 0; number < snapshot.nodes.size(); ++number) {
    if (verify::users_of(snapshot, snapshot.nodes[number].gpu_id).empty()) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", number);
    }
  }
  return text;
}

// Nobody else is in the way, or the user says that it does not matter.
Status check_alone(const discover::Snapshot& snapshot, unsigned gpu, bool yes) {
  if (yes) {
    return ok();
  }
  const auto users = verify::users_of(snapshot, snapshot.nodes[gpu].gpu_id);
  if (!users.empty()) {
    const std::string others = free_gpus(snapshot);
    return Error{EBUSY, fmt::format("GPU {} is in use by {}", gpu, fmt::join(users, "; ")),
                 fmt::format("{}, or --yes: it slows them down, and they spoil the times",
                             others.empty() ? "wait: all GPUs are in use"
                                            : "choose another with --gpu; free: " + others)};
  }
  if (!demo::on_virtual_gpu() && wire::Client::connect()) {
    return Error{EBUSY, "a gpreemptd runs on this machine and would schedule what verify starts",
                 "stop it (systemctl stop gpreemptd), or --yes"};
  }
  return ok();
}

void judge_diagnosis(const Diagnosis& diagnosis, report::Results& results) {
  for (const Finding& finding : diagnosis.findings) {
    std::string note = fmt::format("{}: {}", name(finding.health), finding.text);
    if (!finding.fix.empty()) {
      note += fmt::format(". To do: {}", finding.fix);
    }
    results.criteria.push_back(
        verify::holds("doctor", finding.subject, finding.health != Health::bad, std::move(note)));
  }
}

// Some complaints are usual, as when a program with queues is killed: they are brought back, and
// left to people.
std::string look_at_log(Result<bench::DriverLog>& log, report::Results& results) {
  constexpr char kLog[] = "log", kWhat[] = "the driver's log of this time can be read";
  const auto complaints = log ? log->complaints() : Result<std::vector<std::string>>(log.error());
  if (!complaints) {
    const Error& error = complaints.error();
    results.criteria.push_back(
        verify::unjudged(report::kNotPossible, kLog, kWhat,
                         fmt::format("{}; send the output of dmesg, too", error.message())));
    return fmt::format("not read: {}\n", error.message());
  }
  results.criteria.push_back(verify::holds(
      kLog, kWhat, true,
      complaints->empty()
          ? "it has no complaint"
          : fmt::format("{} complaints; the first: {}", complaints->size(), complaints->front())));
  return complaints->empty() ? "no complaint during the run\n"
                             : fmt::format("{}\n", fmt::join(*complaints, "\n"));
}

std::string unique_mark() {
  std::random_device random;
  return fmt::format("verify-{}-{:08x}", ::getpid(), random());
}

// Before half an hour has gone by, not after it.
Status make_directory(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  return code ? Status(Error{code.value(), fmt::format("make {}", path), "choose another --output"})
              : ok();
}

struct Run {
  Diagnosis diagnosis;
  report::Results results;
  std::string runtime, queue_dump, log;
};

Status measure_all(const demo::Programs& programs, const VerifyOptions& options, int end_signals,
                   Run& run) {
  const auto& snapshot = run.diagnosis.snapshot;
  const discover::Node node = TRY(choose(snapshot.nodes, options.gpu));
  TRY(check_alone(snapshot, options.gpu, options.yes));
  TRY(make_directory(options.output));
  const demo::ScratchDirectory scratch = TRY(demo::ScratchDirectory::create());
  demo::Progress progress;
  const demo::Waiter waiter(end_signals, progress);
  verify::Setting setting{.programs = programs,
                          .scratch = scratch,
                          .waiter = waiter,
                          .progress = progress,
                          .virtual_gpu = demo::on_virtual_gpu(),
                          .extent = extent_of(options),
                          .nodes = snapshot.nodes,
                          .node = node,
                          .mark = unique_mark(),
                          .share = options.yes};
  run.results.environment = demo::describe_environment(setting.virtual_gpu);
  run.results.environment.gpreempt_version = GPREEMPT_PROJECT_VERSION;
  run.results.environment.command = fmt::format("gpreempt {}", fmt::join(words_of(options), " "));
  judge_diagnosis(run.diagnosis, run.results);
  auto log = bench::DriverLog::open();
  verify::run_steps(setting, run.results);
  run.results.environment.rocm = setting.runtime;
  run.runtime = setting.runtime;
  run.queue_dump = setting.queue_dump;
  run.log = look_at_log(log, run.results);
  return ok();
}

std::string verify_text(const report::Results& results) {
  const std::string early =
      results.interrupted ? fmt::format("Interrupted {}.\n\n", *results.interrupted) : "";
  return early + bench_text(results);
}

std::vector<File> files_of(const Run& run) {
  return {{"verify.txt", verify_text(run.results)},
          {"environment.txt", verify::environment_text(GPREEMPT_PROJECT_VERSION, run.runtime)},
          {"doctor.json", diagnosis_json(run.diagnosis)},
          {"parameters.txt", verify::parameters_text()},
          {"topology.txt", verify::topology_text()},
          {"queues.txt", run.queue_dump},
          {"kernel_log.txt", run.log}};
}

struct Kept {
  report::Results results;
  std::vector<File> files;
};

Result<Kept> what_to_keep(const Run& run, bool anonymous) {
  Kept kept{run.results, files_of(run)};
  if (anonymous) {
    for (File& file : kept.files) {
      file.content = verify::anonymous(std::move(file.content));
    }
    kept.results = TRY(report::from_json(verify::anonymous(TRY(report::to_json(run.results)))));
  }
  return kept;
}

// The archive's path.
Result<std::string> keep_in(const std::string& directory, const Kept& kept) {
  TRY(report::write_results(kept.results, directory));
  TRY(report::write_html(kept.results, fmt::format("{}/{}", directory, report::kPageFile)));
  return verify::write_archive(directory, kept.files);
}

// In a place where others may write, nobody must know its name beforehand.
Result<std::string> make_new_directory(const std::string& place, const std::string& name) {
  std::string path = fmt::format("{}/{}.XXXXXX", place, name);
  if (::mkdtemp(path.data()) == nullptr) {
    return Error{errno, fmt::format("make a directory in {}", place), ""};
  }
  return path;
}

// Everything is there but the program that packs it: that is missing elsewhere, too.
bool lacks_only_tar(const std::string& directory, const Kept& kept, const Error& error) {
  return error.code == ENOENT &&
         std::filesystem::exists(fmt::format("{}/{}", directory, kept.files.back().name));
}

// What took half an hour, or a night, is not lost because a disk is full at its end.
Result<std::string> keep_somewhere(const std::string& output, const Kept& kept) {
  Result<std::string> archive = keep_in(output, kept);
  const char* temporary = std::getenv("TMPDIR");
  const std::string name = std::filesystem::path(verify::archive_of(output)).stem().stem();
  for (const char* place : {temporary != nullptr ? temporary : "/tmp", "."}) {
    if (archive || lacks_only_tar(output, kept, archive.error())) {
      break;
    }
    if (const auto directory = make_new_directory(place, name)) {
      fmt::print(stderr, "{}\nThe results go to {} instead.\n", archive.error().message(),
                 *directory);
      archive = keep_in(*directory, kept);
    }
  }
  return archive;
}

// Before anything is written.
void show_what_is_in_it(const Kept& kept, bool anonymous) {
  fmt::print("The archive has {}, {}", report::kResultsFile, report::kPageFile);
  for (const File& file : kept.files) {
    fmt::print(", {}", file.name);
  }
  fmt::print(".\n{}\n", anonymous ? "The names of this host and user are left out."
                                  : "It names this host and user; --anonymous leaves them out.");
}

Status keep(const Run& run, const std::string& output, bool anonymous) {
  const Kept kept = TRY(what_to_keep(run, anonymous));
  show_what_is_in_it(kept, anonymous);
  fmt::print("{}\n", TRY(keep_somewhere(output, kept)));
  return ok();
}

Result<MeasuringSetup> prepare_verify(const VerifyOptions& options) {
  TRY(check_place_for(options.output));
  demo::Programs programs = TRY(demo::find_verify_programs());
  if (!demo::on_virtual_gpu() && options.virtual_gpu) {
    if (programs.vgpu.empty()) {
      return Error{ENOENT, "vgpu is not installed", "build all of gpreempt"};
    }
    return demo::enter_virtual_gpu(programs, words_of(options), {"--kernel-patches"});
  }
  if (!demo::has_gpu()) {
    return Error{ENODEV, "there is no AMD GPU: /dev/kfd does not exist",
                 "in a container: --device /dev/kfd --device /dev/dri; to see what verify does "
                 "without one: --virtual-gpu"};
  }
  return MeasuringSetup{std::move(programs), TRY(catch_end_signals())};
}

int verify_elsewhere(const VerifyOptions& options) {
  if (const Status place = check_place_for(options.output); !place) {
    return report_error(place.error());
  }
  const auto words_for = [&](const std::string& output) {
    VerifyOptions inside = options;
    inside.output = output;
    return words_of(inside);
  };
  const auto status = verify_in_container(options.container, options.output, words_for);
  return status ? *status : report_error(status.error());
}

}  // namespace

int verify(VerifyOptions options) {
  if (const Status known = check_steps(options); !known) {
    return report_error(known.error());
  }
  options.output = output_of(options);
  if (!options.container.empty() && options.virtual_gpu) {
    return report_usage("a container has no virtual GPU", "--container or --virtual-gpu");
  }
  if (!options.container.empty()) {
    return verify_elsewhere(options);
  }
  const Result<MeasuringSetup> setup = prepare_verify(options);
  if (!setup) {
    return report_error(setup.error());
  }
  Run run;
  run.diagnosis = diagnose(system_os(), {}, current_identity(), {}, options.gpu);
  if (const Status done = measure_all(setup->programs, options, setup->end_signals.get(), run);
      !done) {
    std::error_code not_empty;  // it was there before
    std::filesystem::remove(options.output, not_empty);
    return report_error(done.error());
  }
  fmt::print("\n{}", verify_text(run.results));
  fmt::print("{}\n", report::count_text(run.results.criteria));
  for (const report::Criterion& each : run.results.criteria) {  // the table is long
    if (report::is_missed(each)) {
      fmt::print("MISSED  {}: {}. {}\n", each.scenario, each.what, each.note);
    }
  }
  if (run.results.environment.virtual_gpu) {
    fmt::print("Times are an emulator's: they are shown, and the exit status ignores them.\n");
  }
  if (const Status kept = keep(run, options.output, options.anonymous); !kept) {
    return report_error(kept.error());
  }
  if (run.results.interrupted) {
    fmt::print(stderr,
               "verify was interrupted {}: nothing is left stopped, and the archive has {}\n",
               *run.results.interrupted, "what was measured until then");
    return exit_failed;
  }
  const ExitCode unusable = run.diagnosis.exit_code();
  return unusable != exit_ok ? unusable : verify::exit_status(run.results);
}

}  // namespace gp::cli
