#include "demo/phases.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace gp::demo {
namespace {

using std::chrono::steady_clock;

constexpr char kLlamaSocket[] = "llama.sock";  // the end of the name tells it that it is one
// A model of somebody else's may be large, and slow beside a trainer.
constexpr std::chrono::minutes kMostForExample{2}, kMostForModel{15};

bool has_made_a_step(const Child& trainer) { return trainer.last_line().starts_with("step "); }

}  // namespace

std::string PhaseRunner::job() const { return fmt::format("gpreempt-demo-{}", ::getpid()); }

std::vector<std::string> PhaseRunner::under(const Scheduler* scheduler, const char* work_class,
                                            const std::string& job,
                                            std::vector<std::string> words) const {
  if (scheduler == nullptr) {
    return words;
  }
  std::vector<std::string> all = {programs_.gpreempt, "run", "--class", work_class};
  if (!job.empty()) {
    all.insert(all.end(), {"--job", job});
  }
  if (!scheduler->socket().empty()) {
    all.insert(all.end(), {"--socket", scheduler->socket()});
  }
  all.emplace_back("--");
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Command PhaseRunner::command(const std::string& name, std::vector<std::string> words) const {
  Command command;
  command.name = name;
  command.words = std::move(words);
  command.error_file = scratch_.file(fmt::format("{}.log", name));
  command.end_signal = SIGKILL;
  return command;
}

Result<Child> PhaseRunner::start_trainer(const Scheduler* scheduler) const {
  std::vector<std::string> words = {programs_.trainer};
  words.insert(words.end(), load_.trainer.begin(), load_.trainer.end());
  words.insert(words.end(), {"--json", scratch_.file("trainer")});
  Child trainer =
      TRY(Child::start(command("trainer", under(scheduler, "offline", job(), std::move(words)))));
  TRY(waiter_.wait("the trainer's first step", {&trainer},
                   [&] { return has_made_a_step(trainer); }));
  return trainer;
}

Result<Child> PhaseRunner::start_server(const Scheduler* scheduler,
                                        const std::vector<Child*>& beside) const {
  if (load_.llama) {
    return start_llama_server(scheduler, beside);
  }
  std::vector<std::string> words = {programs_.server};
  words.insert(words.end(), load_.server.begin(), load_.server.end());
  words.insert(words.end(), {"--json", scratch_.file("server")});
  return Child::start(command("server", under(scheduler, "online", "", std::move(words))));
}

Result<Child> PhaseRunner::start_llama_server(const Scheduler* scheduler,
                                              const std::vector<Child*>& beside) const {
  const std::string socket = scratch_.file(kLlamaSocket);
  ::unlink(socket.c_str());  // of the last one
  Command start =
      command("llama-server", under(scheduler, "online", "", words_of(*load_.llama, socket)));
  start.environment = environment_for(load_.virtual_gpu);
  Child server = TRY(Child::start(std::move(start)));
  TRY(wait_until_ready(*load_.llama, server, socket, beside, waiter_));
  return server;
}

Result<Serving> PhaseRunner::serve(Child& server, const std::vector<Child*>& beside) const {
  std::vector<Child*> running = beside;
  running.push_back(&server);
  std::optional<Child> client;  // asks a llama-server; the example asks itself
  if (load_.llama) {
    std::vector<std::string> words = {programs_.llm_client, scratch_.file(kLlamaSocket)};
    words.insert(words.end(), load_.llama_client.begin(), load_.llama_client.end());
    words.push_back(scratch_.file("server"));
    client.emplace(TRY(Child::start(command("client", std::move(words)))));
    running.push_back(&*client);
  }
  const Child& last = client ? *client : server;
  const Status served = waiter_.wait(
      "the server's last request", running, [&] { return last.status().has_value(); },
      load_.llama ? kMostForModel : kMostForExample);
  if (!served) {
    server.update();  // a client complains when its server has died
    return client && server.status() ? server.failure() : served.error();
  }
  return read_serving(scratch_.file("server"));
}

Result<Training> PhaseRunner::end_training(Child& trainer) const {
  trainer.signal(SIGTERM);  // it ends after the step it is at
  TRY(waiter_.wait("the trainer's end", {&trainer}, [&] { return trainer.status().has_value(); }));
  return read_training(scratch_.file("trainer"));
}

Result<Measured> PhaseRunner::online_alone() const {
  Child server = TRY(start_server(nullptr, {}));
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
  Child server = TRY(start_server(scheduler, {&trainer}));
  Measured measured;
  // A model is loaded and tried before it serves: that is not counted.
  const u64 before = scheduler != nullptr ? TRY(scheduler->preemptions_of(job())) : 0;
  measured.serving = TRY(serve(server, {&trainer}));
  if (scheduler != nullptr) {  // while the daemon still knows the job
    measured.preemptions = TRY(scheduler->preemptions_of(job())) - before;
    measured.trace = TRY(scheduler->trace());
  }
  measured.training = TRY(end_training(trainer));
  return measured;
}

}  // namespace gp::demo
