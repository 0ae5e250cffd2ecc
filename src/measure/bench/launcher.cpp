#include "bench/launcher.h"

#include <fmt/format.h>
#include <signal.h>

namespace gp::bench {

Result<demo::Scheduler> Launcher::daemon(const std::string& settings) const {
  return demo::Scheduler::start(programs_, scratch_, waiter_,
                                (virtual_gpu_ ? stock_mechanisms() : std::string()) + settings);
}

Result<demo::Scheduler> Launcher::daemon_with(const MeasuredMechanism& mechanism) const {
  return demo::Scheduler::start(programs_, scratch_, waiter_,
                                fmt::format("mechanisms = [\"{}\"]\n", mechanism.name));
}

Result<demo::Child> Launcher::start(const std::string& program, const char* work_class,
                                    const Workload& workload) const {
  demo::Command command;
  command.name = workload.name;
  command.environment = workload.environment;
  const bool reaches_daemon = workload.scheduler != nullptr && workload.agent;
  if (workload.scheduler != nullptr || workload.debuggable) {
    command.words = {programs_.gpreempt,
                     "run",
                     "--class",
                     workload.work_class != nullptr ? workload.work_class : work_class,
                     "--job",
                     workload.name,
                     "--socket",
                     reaches_daemon ? workload.scheduler->socket() : scratch_.file("nobody"),
                     "--"};
  }
  command.words.push_back(program);
  command.words.insert(command.words.end(), workload.arguments.begin(), workload.arguments.end());
  command.words.insert(command.words.end(), {"--json", scratch_.file(workload.name)});
  command.error_file = scratch_.file(fmt::format("{}.log", workload.name));
  command.end_signal = SIGKILL;
  return demo::Child::start(std::move(command));
}

Result<demo::Child> Launcher::trainer(const Workload& workload) const {
  Workload endless = workload;
  endless.arguments.insert(endless.arguments.end(),
                           {"--report-every", "1", "--for", "1000000"});  // we end it
  demo::Child child = TRY(start(programs_.trainer, "offline", endless));
  TRY(waiter_.wait("the first step", {&child},
                   [&] { return child.last_line().starts_with("step "); }));
  return child;
}

Result<demo::Child> Launcher::server(const Workload& workload) const {
  return start(programs_.server, "online", workload);
}

Result<demo::Child> Launcher::offline_server(const Workload& workload) const {
  demo::Child child = TRY(start(programs_.server, "offline", workload));
  TRY(waiter_.wait("a server to be ready", {&child}, [&] { return child.said("ready"); }));
  return child;
}

Result<demo::Serving> Launcher::served(demo::Child& server,
                                       std::initializer_list<demo::Child*> others) const {
  std::vector<demo::Child*> all(others);
  all.push_back(&server);
  TRY(waiter_.wait(
      "the last request", all, [&] { return server.status().has_value(); },
      std::chrono::hours(24)));  // as many as it was told to serve
  return demo::read_serving(scratch_.file(server.name()));
}

Result<demo::Training> Launcher::trained(demo::Child& trainer) const {
  trainer.signal(SIGTERM);  // it ends after the step it is at
  TRY(waiter_.wait("the trainer's end", {&trainer}, [&] { return trainer.status().has_value(); }));
  return demo::read_training(scratch_.file(trainer.name()));
}

Result<demo::Serving> Launcher::ended(demo::Child& server) const {
  server.signal(SIGTERM);  // it ends after the request it is at
  TRY(waiter_.wait("the server's end", {&server}, [&] { return server.status().has_value(); }));
  return demo::read_serving(scratch_.file(server.name()));
}

Status Launcher::wait(std::chrono::milliseconds time,
                      std::initializer_list<demo::Child*> running) const {
  const auto end = std::chrono::steady_clock::now() + time;
  return waiter_.wait(
      "time to pass", running, [&] { return std::chrono::steady_clock::now() >= end; },
      time + std::chrono::minutes(1));
}

}  // namespace gp::bench
