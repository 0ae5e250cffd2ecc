#include "bench/actors.h"

#include <fmt/format.h>
#include <signal.h>

namespace gp::bench {

Result<demo::Scheduler> Actors::daemon(const std::string& settings) const {
  return demo::Scheduler::start(places_, scratch_, stage_,
                                (virtual_gpu_ ? kStockMechanisms : std::string()) + settings);
}

Result<demo::Scheduler> Actors::daemon_with(const Mechanism& mechanism) const {
  return demo::Scheduler::start(places_, scratch_, stage_,
                                fmt::format("mechanisms = [\"{}\"]\n", mechanism.name));
}

Result<demo::Child> Actors::start(const std::string& program, const char* work_class,
                                  const Casting& casting) const {
  demo::Command command;
  command.name = casting.name;
  command.environment = casting.environment;
  const bool reaches_daemon = casting.scheduler != nullptr && casting.agent;
  if (casting.scheduler != nullptr || casting.debuggable) {
    command.words = {places_.gpreempt,
                     "run",
                     "--class",
                     work_class,
                     "--job",
                     casting.name,
                     "--socket",
                     reaches_daemon ? casting.scheduler->socket() : scratch_.file("nobody"),
                     "--"};
  }
  command.words.push_back(program);
  command.words.insert(command.words.end(), casting.arguments.begin(), casting.arguments.end());
  command.words.insert(command.words.end(), {"--json", scratch_.file(casting.name)});
  command.error_file = scratch_.file(fmt::format("{}.log", casting.name));
  command.end_signal = SIGKILL;
  return demo::Child::start(std::move(command));
}

Result<demo::Child> Actors::trainer(const Casting& casting) const {
  Casting endless = casting;
  endless.arguments.insert(endless.arguments.end(),
                           {"--report-every", "1", "--for", "1000000"});  // we end it
  demo::Child child = TRY(start(places_.trainer, "offline", endless));
  TRY(stage_.wait("the first step", {&child},
                  [&] { return child.last_line().starts_with("step "); }));
  return child;
}

Result<demo::Child> Actors::server(const Casting& casting) const {
  return start(places_.server, "online", casting);
}

Result<demo::Child> Actors::offline_server(const Casting& casting) const {
  demo::Child child = TRY(start(places_.server, "offline", casting));
  TRY(stage_.wait("a server to be ready", {&child}, [&] { return child.said("ready"); }));
  return child;
}

Result<demo::Serving> Actors::served(demo::Child& server,
                                     std::initializer_list<demo::Child*> others) const {
  std::vector<demo::Child*> all(others);
  all.push_back(&server);
  TRY(stage_.wait(
      "the last request", all, [&] { return server.status().has_value(); },
      std::chrono::hours(24)));  // as many as it was told to serve
  return demo::read_serving(scratch_.file(server.name()));
}

Result<demo::Training> Actors::trained(demo::Child& trainer) const {
  trainer.signal(SIGTERM);  // it ends after the step it is at
  TRY(stage_.wait("the trainer's end", {&trainer}, [&] { return trainer.status().has_value(); }));
  return demo::read_training(scratch_.file(trainer.name()));
}

Result<demo::Serving> Actors::ended(demo::Child& server) const {
  server.signal(SIGTERM);  // it ends after the request it is at
  TRY(stage_.wait("the server's end", {&server}, [&] { return server.status().has_value(); }));
  return demo::read_serving(scratch_.file(server.name()));
}

Status Actors::wait(std::chrono::milliseconds time,
                    std::initializer_list<demo::Child*> running) const {
  const auto end = std::chrono::steady_clock::now() + time;
  return stage_.wait(
      "time to pass", running, [&] { return std::chrono::steady_clock::now() >= end; },
      time + std::chrono::minutes(1));
}

}  // namespace gp::bench
