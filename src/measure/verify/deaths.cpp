// kill -9 of everybody in turn while offline work is stopped: nothing stays so.
#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "bench/daemon_view.h"
#include "bench/held_job.h"
#include "verify/judge.h"
#include "verify/steps.h"
#include "verify/stops.h"

namespace gp::verify {
namespace {

using namespace std::chrono_literals;
constexpr char kDeathsStep[] = "deaths";

struct Scene {
  demo::Scheduler scheduler;
  std::vector<Load> loads;
  Load& offline() { return loads.front(); }
};

Result<Scene> offline_at_work(const Setting& setting) {
  Scene scene{TRY(start_daemon(setting)), {}};
  scene.loads = TRY(start_loads(setting, {.name = "offline", .scheduler = &scene.scheduler}, 1));
  TRY(scene.offline().begin_offline(one_group_per_cu(setting), 20));
  TRY(wait_until_known(setting, scene.scheduler, scene.loads));
  return scene;
}

Result<bench::HeldJob> hold(const Setting& setting, Scene& scene) {
  bench::HeldJob job =
      TRY(bench::HeldJob::of(scene.scheduler, setting.waiter, scene.offline().child(), kLease));
  TRY(stop_when_known(setting, job, scene.offline()));
  const auto stopped = TRY(scene.offline().progress());
  std::this_thread::sleep_for(2ms);
  if (TRY(scene.offline().progress()) != stopped) {
    return Error{EIO, "offline goes on though it is stopped", ""};
  }
  return job;
}

pid_t parent_of(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(stat, text);
  const std::size_t end = text.rfind(") ");
  return end == std::string::npos ? 0 : std::atoi(text.substr(end + 4).c_str());
}

void add(report::Results& results, const char* who, const Result<milliseconds>& took) {
  report::Criterion criterion =
      at_most(kDeathsStep, fmt::format("{}: offline runs again after", who), kRunsAgainS, "s",
              took ? std::optional(std::chrono::duration<double>(*took).count()) : std::nullopt);
  criterion.note = took ? "" : took.error().message();
  results.criteria.push_back(std::move(criterion));
}

Status daemon_dies(Setting& setting, report::Results& results, bool guardian_too) {
  Scene scene = TRY(offline_at_work(setting));
  const bench::HeldJob job = TRY(hold(setting, scene));
  const pid_t daemon = TRY(bench::look_at(scene.scheduler)).daemon;
  // Somebody else is the parent where the guardian has just died: the service manager, perhaps.
  const pid_t guardian = scene.scheduler.started_pid();
  if (daemon <= 1 || guardian <= 1 || parent_of(daemon) != guardian) {
    return Error{ESRCH, "the daemon has no guardian", "gpreemptd's guardian has died by itself"};
  }
  if (guardian_too) {
    ::kill(guardian, SIGKILL);
  }
  ::kill(daemon, SIGKILL);
  const auto took = scene.offline().wait_for_progress(kRunsAgainAtMost);
  if (!took && took.error().code == EINTR) {
    return took.error();
  }
  add(results, guardian_too ? "daemon and guardian killed" : "daemon killed", took);
  const Reply end = TRY(scene.offline().end_offline());
  results.criteria.push_back(
      at_most(kDeathsStep, "wrong results of offline", 0, "", end.number("wrong_lanes")));
  return ok();
}

Status online_dies(Setting& setting, report::Results& results) {
  constexpr double kLongRequestMs = 3000;
  Scene scene = TRY(offline_at_work(setting));
  std::optional<Load> online = TRY(Load::start(
      setting, {.name = "online", .scheduler = &scene.scheduler, .work_class = "online"}));
  TRY(online->begin_online(one_group_per_cu(setting), kLongRequestMs, 1, 1));
  TRY(setting.waiter.wait("offline to be stopped", {&scene.offline().child(), &online->child()},
                          [&] {
                            const auto view = bench::look_at(scene.scheduler);
                            const bench::JobView* job = view ? view->job("offline") : nullptr;
                            return job != nullptr && job->state == "stopped";
                          }));
  ::kill(online->child().pid(), SIGKILL);
  const auto took = scene.offline().wait_for_progress(kRunsAgainAtMost);
  if (!took && took.error().code == EINTR) {
    return took.error();
  }
  add(results, "online killed in a request", took);
  online.reset();
  return ok();
}

Status offline_dies(Setting& setting, report::Results& results) {
  Scene scene = TRY(offline_at_work(setting));
  {
    const bench::HeldJob job = TRY(hold(setting, scene));
    ::kill(scene.offline().child().pid(), SIGKILL);
  }
  std::vector<Load> next =
      TRY(start_loads(setting, {.name = "next", .scheduler = &scene.scheduler}, 1));
  const auto stops =
      stop_and_start(setting, scene.scheduler, next, {one_group_per_cu(setting), 20, 2});
  if (!stops && stops.error().code == EINTR) {
    return stops.error();
  }
  results.criteria.push_back(
      holds(kDeathsStep, "offline killed while stopped: the next is served as ever",
            stops && stops->wrong_lanes == 0, stops ? "" : stops.error().message()));
  return ok();
}

}  // namespace

Status run_deaths(Setting& setting, report::Results& results) {
  TRY(daemon_dies(setting, results, false));
  TRY(daemon_dies(setting, results, true));
  TRY(online_dies(setting, results));
  return offline_dies(setting, results);
}

}  // namespace gp::verify
