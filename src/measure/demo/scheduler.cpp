#include "demo/scheduler.h"

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "control/client.h"

namespace gp::demo {

Result<Scheduler> Scheduler::start(const Places& places, const ScratchDirectory& scratch,
                                   const Stage& stage, const std::string& settings) {
  const std::string config = scratch.file("gpreemptd.toml"),
                    socket = scratch.file("gpreemptd.sock");
  if (!(std::ofstream(config) << settings)) {
    return Error{errno, fmt::format("write {}", config), ""};
  }
  Command command;
  command.name = "gpreemptd";
  command.words = {places.gpreemptd, "--config", config, "--socket", socket, "--log", "warning"};
  command.error_file = scratch.file("gpreemptd.log");
  command.end_signal = SIGTERM;  // it starts what is stopped, and ends
  auto daemon = std::make_unique<Child>(TRY(Child::start(std::move(command))));
  TRY(stage.wait("gpreemptd", {daemon.get()},
                 [&] { return static_cast<bool>(control::Client::connect(socket)); }));
  return Scheduler(socket, std::move(daemon));
}

Result<Scheduler> Scheduler::connect(const std::string& socket) {
  const auto client = control::Client::connect(socket);
  if (!client) {
    const int code = client.error().code;
    return Error{code == ENOENT || code == ECONNREFUSED ? ENODEV : code,
                 fmt::format("no daemon at {}", socket), "start gpreemptd --socket there"};
  }
  return Scheduler(socket, nullptr);
}

Result<u64> Scheduler::preemptions_of(const std::string& job) const {
  auto client = TRY(control::Client::connect(socket_));
  const auto status =
      nlohmann::json::parse(TRY(client.text(control::Kind::status)), nullptr, false);
  if (!status.is_object()) {
    return Error{EPROTO, "the daemon's status cannot be understood",
                 "gpreempt and gpreemptd may be of different versions"};
  }
  for (const auto& each : status.value("jobs", nlohmann::json::array())) {
    if (each.value("job", "") == job) {
      return each.value("preemptions", u64{0});
    }
  }
  return Error{ENOENT, fmt::format("gpreemptd does not know the job {}", job),
               "gpreempt doctor says what is missing"};
}

Result<std::string> Scheduler::trace() const {
  auto client = TRY(control::Client::connect(socket_));
  return client.text(control::Kind::trace);
}

}  // namespace gp::demo
