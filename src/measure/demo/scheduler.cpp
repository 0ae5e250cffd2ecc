#include "demo/scheduler.h"

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "client/client.h"

namespace gp::demo {
namespace {

Result<nlohmann::json> status_of(const std::string& socket) {
  auto client = TRY(wire::Client::connect(socket));
  auto status = nlohmann::json::parse(TRY(client.text(wire::Kind::status)), nullptr, false);
  if (!status.is_object()) {
    return Error{EPROTO, "the daemon's status cannot be understood",
                 "gpreempt and gpreemptd may be of different versions"};
  }
  return status;
}

}  // namespace

Result<Scheduler> Scheduler::start(const Programs& programs, const ScratchDirectory& scratch,
                                   const Waiter& waiter, const std::string& settings) {
  const std::string config = scratch.file("gpreemptd.toml"),
                    socket = scratch.file("gpreemptd.sock");
  // A daemon without its settings would schedule the programs of others.
  TRY(write_file(config, settings));
  Command command;
  command.name = "gpreemptd";
  command.words = {programs.gpreemptd, "--config", config, "--socket", socket, "--log", "warning"};
  command.error_file = scratch.file("gpreemptd.log");
  command.end_signal = SIGTERM;  // it starts what is stopped, and ends
  auto daemon = std::make_unique<Child>(TRY(Child::start(std::move(command))));
  TRY(waiter.wait("gpreemptd", {daemon.get()},
                  [&] { return static_cast<bool>(wire::Client::connect(socket)); }));
  return Scheduler(socket, std::move(daemon));
}

Result<Scheduler> Scheduler::connect(const std::string& socket) {
  const auto client = wire::Client::connect(socket);
  if (!client) {
    const int code = client.error().code;
    return Error{code == ENOENT || code == ECONNREFUSED ? ENODEV : code,
                 fmt::format("no daemon at {}", socket), "start gpreemptd --socket there"};
  }
  return Scheduler(socket, nullptr);
}

std::optional<pid_t> Scheduler::daemon_pid() const {
  const auto status = status_of(socket_);
  const auto pid = status ? status->value("daemon_pid", 0) : 0;
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

Result<u64> Scheduler::preemptions_of(const std::string& job) const {
  const nlohmann::json status = TRY(status_of(socket_));
  for (const auto& each : status.value("jobs", nlohmann::json::array())) {
    if (each.value("job", "") == job) {
      return each.value("preemptions", u64{0});
    }
  }
  return Error{ENOENT, fmt::format("gpreemptd does not know the job {}", job),
               "gpreempt doctor says what is missing"};
}

Result<std::string> Scheduler::trace() const {
  auto client = TRY(wire::Client::connect(socket_));
  return client.text(wire::Kind::trace);
}

}  // namespace gp::demo
