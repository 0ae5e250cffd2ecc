#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/exit_code.h"
#include "report/verdict.h"
#include "verify/judge.h"
#include "verify/steps.h"

namespace gp::verify {
namespace {

constexpr Step kSteps[] = {
    {"program", "GPU programs of our own", run_program, false, false,
     "run it where ROCm is, with /dev/kfd and /dev/dri; gpreempt doctor says what is missing"},
    {"discovery", "finding their queues", run_discovery, true, false,
     "queues.txt in the archive has the driver's lists: please send it"},
    {"mechanisms", "stopping and starting running kernels", run_mechanisms, true, false,
     "leave this mechanism out of mechanisms in gpreemptd.toml, and please send the archive"},
    {"save", "what a stop costs: registers, LDS, waves", run_save, true, true,
     "it is the driver and the GPU that take the time: a larger linger_min stops less often"},
    {"online", "online beside offline", run_online, true, true,
     "report.html has where the time went; a larger linger_min stops less often"},
    {"levels", "level 1 beside level 3", run_levels, true, true,
     "kernels here are so short that gate serves as well: mechanisms = [\"gate\"]"},
    {"deaths", "kill -9 of everybody in turn", run_deaths, true, true,
     "do not use gpreemptd on this machine before that is understood: please send the archive"},
    {"gpus", "all GPUs at once", run_gpus, true, true,
     "try them one by one with --gpu, and please send the archive"},
    {"soak", "online beside offline, for long", run_soak, true, true,
     "kernel_log.txt in the archive may say why: please send it"},
};

std::string outcome_text(std::span<const report::Criterion> criteria) {
  return report::count_text({criteria.begin(), criteria.end()});
}

// Where results are lost, whatever helps against slow stops does not matter any more.
std::string_view remedy_for(const Step& step, const report::Criterion& missed) {
  return missed.what.find("wrong results") == std::string::npos
             ? step.remedy
             : "do not stop work that matters on this machine: kernels compute something else when "
               "they are stopped. Please send the archive";
}

void add_remedy(const Step& step, std::span<report::Criterion> criteria) {
  for (report::Criterion& each : criteria) {
    if (report::is_missed(each)) {
      each.note +=
          fmt::format("{}To do: {}", each.note.empty() ? "" : ". ", remedy_for(step, each));
    }
  }
}

report::Criterion failure_of(const Step& step, const Error& error) {
  return holds(step.name, "runs to its end", false, error.message());
}

// The first step is what the others need.
bool is_chosen(const Step& step, const Extent& extent) {
  if (step.run == run_program) {
    return true;
  }
  if (!extent.steps.empty()) {
    return std::ranges::count(extent.steps, step.name) != 0;
  }
  return step.run != run_soak || extent.soak;
}

// Why it cannot be run after what was found before; empty if it can.
std::string obstacle(const Step& step, const Setting& setting) {
  if (step.needs_program && setting.rates.empty()) {
    return "our own GPU program does not run: see program, above";
  }
  if (step.needs_mechanism && setting.working.empty()) {
    return "nothing stops running kernels exactly here: see mechanisms, above";
  }
  return "";
}

Status do_step(const Step& step, Setting& setting, report::Results& results) {
  if (step.needs_mechanism && !setting.mechanisms_tried && !setting.rates.empty()) {
    TRY(find_working(setting, results));
  }
  if (const std::string why = obstacle(step, setting); !why.empty()) {
    results.criteria.push_back(unjudged(report::kSkipped, step.name, step.what, why));
    return ok();
  }
  return step.run(setting, results);
}

// What a step has measured before the user ended it counts; what it has not is no failure.
void run_step(const Step& step, Setting& setting, report::Results& results) {
  const Status done = do_step(step, setting, results);
  if (setting.waiter.is_ended()) {
    results.interrupted = fmt::format("in the step {}", step.name);
    results.criteria.push_back(unjudged(report::kSkipped, step.name,
                                        "the rest of this step, and those after it",
                                        "verify was interrupted"));
  } else if (!done) {
    results.criteria.push_back(failure_of(step, done.error()));
  }
}

}  // namespace

std::span<const Step> steps() { return kSteps; }

void run_steps(Setting& setting, report::Results& results) {
  for (const Step& step : kSteps) {
    if (!is_chosen(step, setting.extent)) {
      continue;
    }
    setting.progress.begin(fmt::format("{}: {}", step.name, step.what));
    const std::size_t before = results.criteria.size();
    run_step(step, setting, results);
    const auto its = std::span(results.criteria).subspan(before);
    if (setting.virtual_gpu) {
      mark_emulated(its);
    }
    add_remedy(step, its);
    setting.progress.done(results.interrupted ? "interrupted" : outcome_text(its));
    if (results.interrupted) {
      return;
    }
  }
}

std::vector<std::string> users_of(const discover::Snapshot& snapshot, u32 gpu_id) {
  std::vector<std::string> users;
  for (const discover::Process& process : snapshot.processes) {
    if (std::ranges::any_of(process.queues,
                            [&](const auto& queue) { return queue.gpu_id == gpu_id; })) {
      users.push_back(fmt::format("{} {}", process.key.pid, process.command));
    }
  }
  return users;
}

int exit_status(const report::Results& results) {
  const auto missed = [](const report::Criterion& each) { return report::is_missed(each); };
  const auto nothing_stops = [](const report::Criterion& each) {
    return each.what == kCanStop && report::is_missed(each);
  };
  if (std::ranges::any_of(results.criteria, nothing_stops) &&
      std::ranges::count_if(results.criteria, missed) == 1) {
    return exit_unsupported;
  }
  return std::ranges::any_of(results.criteria, missed) ? exit_failed : exit_ok;
}

}  // namespace gp::verify
