#include "demo/phases.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace gp::demo {
namespace {

using std::chrono::steady_clock;

bool has_made_a_step(const Child& trainer) { return trainer.last_line().starts_with("step "); }

}  // namespace

std::string PhaseRunner::job() const { return fmt::format("gpreempt-demo-{}", ::getpid()); }

Result<Child> PhaseRunner::start(const std::string& name, const std::string& program,
                                 std::vector<std::string> arguments, const char* work_class,
                                 const Scheduler* scheduler) const {
  Command command;
  command.name = name;
  if (scheduler != nullptr) {
    command.words = {programs_.gpreempt, "run", "--class", work_class};
    if (name == "trainer") {
      command.words.insert(command.words.end(), {"--job", job()});
    }
    if (!scheduler->socket().empty()) {
      command.words.insert(command.words.end(), {"--socket", scheduler->socket()});
    }
    command.words.emplace_back("--");
  }
  command.words.push_back(program);
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  command.words.insert(command.words.end(), {"--json", scratch_.file(name)});
  command.error_file = scratch_.file(fmt::format("{}.log", name));
  command.end_signal = SIGKILL;
  return Child::start(std::move(command));
}

Result<Child> PhaseRunner::start_trainer(const Scheduler* scheduler) const {
  Child trainer = TRY(start("trainer", programs_.trainer, load_.trainer, "offline", scheduler));
  TRY(waiter_.wait("the trainer's first step", {&trainer},
                   [&] { return has_made_a_step(trainer); }));
  return trainer;
}

Result<Child> PhaseRunner::start_server(const Scheduler* scheduler) const {
  return start("server", programs_.server, load_.server, "online", scheduler);
}

Result<Serving> PhaseRunner::serve(Child& server, const std::vector<Child*>& beside) const {
  std::vector<Child*> running = beside;
  running.push_back(&server);
  TRY(waiter_.wait("the server's last request", running,
                   [&] { return server.status().has_value(); }));
  return read_serving(scratch_.file("server"));
}

Result<Training> PhaseRunner::end_training(Child& trainer) const {
  trainer.signal(SIGTERM);  // it ends after the step it is at
  TRY(waiter_.wait("the trainer's end", {&trainer}, [&] { return trainer.status().has_value(); }));
  return read_training(scratch_.file("trainer"));
}

Result<Measured> PhaseRunner::online_alone() const {
  Child server = TRY(start_server(nullptr));
  Measured measured;
  measured.serving = TRY(serve(server, {}));
  return measured;
}

Result<Measured> PhaseRunner::offline_alone(std::chrono::milliseconds longer) const {
  Child trainer = TRY(start_trainer(nullptr));
  const auto end = steady_clock::now() + load_.duration + longer;
  TRY(waiter_.wait("time to pass", {&trainer}, [&] { return steady_clock::now() >= end; }));
  Measured measured;
  measured.training = TRY(end_training(trainer));
  return measured;
}

Result<Measured> PhaseRunner::both(const Scheduler* scheduler) const {
  Child trainer = TRY(start_trainer(scheduler));
  Child server = TRY(start_server(scheduler));
  Measured measured;
  measured.serving = TRY(serve(server, {&trainer}));
  if (scheduler != nullptr) {  // while the daemon still knows the job
    measured.preemptions = TRY(scheduler->preemptions_of(job()));
    measured.trace = TRY(scheduler->trace());
  }
  measured.training = TRY(end_training(trainer));
  return measured;
}

}  // namespace gp::demo
