// The commands about devices that are kept alive: start, stop, list, stats, inject.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/places.h"
#include "cli/server_process.h"
#include "cli/stats_table.h"

namespace vgpu::cli {
namespace {

using gp::Error;
using gp::Result;
using gp::Status;

constexpr int kStopTimeoutMs = 20'000;
constexpr int kSchemaVersion = 1;

struct RunningDevice {
  std::string name, directory;
  nlohmann::ordered_json identity;
};

Result<Client> connect_to_device(const std::string& name) {
  const std::string directory = TRY(directory_of(name));
  Result<Client> client = Client::connect(directory);
  if (!client) {
    Error error = client.error();
    error.what = fmt::format("device {}", name);
    error.hint = fmt::format("vgpu start {}, or see vgpu list", name);
    return error;
  }
  return client;
}

// Those whose server answers; directories that a dead server left are passed over.
std::vector<RunningDevice> running_devices() {
  std::vector<RunningDevice> devices;
  for (const std::string& name : known_names()) {
    const Result<std::string> directory = directory_of(name);
    Result<Client> client = directory ? Client::connect(*directory) : directory.error();
    Result<std::string> answer = client ? client->call(wire::kind_ping) : client.error();
    if (answer) {
      devices.push_back({name, *directory, nlohmann::ordered_json::parse(*answer)});
    }
  }
  return devices;
}

Result<std::string> directory_for_stats(const std::string& name) {
  if (!name.empty()) {
    return directory_of(name);
  }
  if (const char* here = std::getenv(wire::kEnvironment)) {
    return std::string(here);
  }
  const std::vector<RunningDevice> devices = running_devices();
  if (devices.empty()) {
    return Error{ENODEV, "no virtual GPU is running", "vgpu start NAME, or vgpu run -- CMD"};
  }
  if (devices.size() > 1) {
    return Error{EINVAL, fmt::format("{} virtual GPUs are running", devices.size()),
                 "say which: vgpu stats NAME; see vgpu list"};
  }
  return devices[0].directory;
}

Status start_device(const std::string& name, const DeviceOptions& options) {
  const std::string directory = TRY(directory_of(name));
  if (Client::connect(directory)) {
    return Error{EEXIST, fmt::format("device {} is running", name),
                 fmt::format("vgpu stop {}", name)};
  }
  TRY(start_server(directory, options.words, Lifetime::until_stopped));
  return gp::ok();
}

Result<std::string> call_device(const std::string& directory, wire::Kind kind) {
  Client client = TRY(Client::connect(directory));
  return client.call(kind);
}

Result<std::string> stats_of(const std::string& name) {
  return call_device(TRY(directory_for_stats(name)), wire::kind_stats);
}

int exit_code(const Status& status) {
  return status ? gp::exit_ok : gp::report_error(status.error());
}

}  // namespace

int start(const std::string& name, const DeviceOptions& options) {
  const Status status = start_device(name, options);
  if (status) {
    std::printf("%s is running; use it with: vgpu exec %s -- CMD\n", name.c_str(), name.c_str());
  }
  return exit_code(status);
}

int stop(const std::string& name) {
  Result<Client> client = connect_to_device(name);
  return client ? exit_code(client->stop(kStopTimeoutMs)) : gp::report_error(client.error());
}

int list(bool json) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  const std::vector<RunningDevice> running = running_devices();
  for (const RunningDevice& device : running) {
    nlohmann::ordered_json entry = {{"name", device.name}, {"directory", device.directory}};
    entry.update(device.identity);
    entry.erase("schema_version");
    devices.push_back(entry);
  }
  if (json) {
    const nlohmann::ordered_json report = {{"schema_version", kSchemaVersion},
                                           {"devices", devices}};
    std::printf("%s\n", report.dump(2).c_str());
    return gp::exit_ok;
  }
  if (running.empty()) {
    std::puts("No virtual GPU is running.");
  }
  for (const RunningDevice& device : running) {
    std::printf("%-16s pid %-8s %s\n", device.name.c_str(), device.identity["pid"].dump().c_str(),
                device.identity["description"].get<std::string>().c_str());
  }
  return gp::exit_ok;
}

int stats(const std::string& name, bool json) {
  const Result<std::string> text = stats_of(name);
  if (!text) {
    return gp::report_error(text.error());
  }
  std::fputs(json ? text->c_str() : stats_table(*text).c_str(), stdout);
  return gp::exit_ok;
}

int inject(const std::string& name, const std::string& fault) {
  Result<Client> client = connect_to_device(name);
  if (!client) {
    return gp::report_error(client.error());
  }
  const Result<std::string> answer = client->call(wire::kind_inject, fault);
  return answer ? gp::exit_ok : gp::report_error(answer.error());
}

}  // namespace vgpu::cli
