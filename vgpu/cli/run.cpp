// `vgpu run`: a server, a child, and nothing left when they are done.
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "base/arguments.h"
#include "base/exit_code.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/places.h"
#include "cli/server_process.h"
#include "cli/stats_table.h"
#include "protocol/runtime_directory.h"

namespace vgpu::cli {
namespace {

using gp::Error;
using gp::Result;
using gp::UniqueFd;

constexpr int kSignalled = 128;  // plus the number, as shells have it
constexpr std::size_t kLogLines = 20;

// The signals that concern the child, taken from a descriptor.
class Signals {
 public:
  Signals() {
    ::sigemptyset(&taken_);
    for (int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
      ::sigaddset(&taken_, number);
    }
    ::sigprocmask(SIG_BLOCK, &taken_, &before_);
    fd_.reset(::signalfd(-1, &taken_, SFD_CLOEXEC));
  }
  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  bool next(signalfd_siginfo& info) const {
    return ::read(fd_.get(), &info, sizeof info) == sizeof info;
  }

 private:
  sigset_t taken_, before_;
  UniqueFd fd_;
};

int exit_status(int status) {
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

// Waits for the child and passes on signals. Those of the terminal (SI_KERNEL) reach the child by
// themselves: it is in our process group.
int wait_for(pid_t child, const Signals& signals) {
  for (;;) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      return exit_status(status);
    }
    signalfd_siginfo info{};
    if (signals.next(info) && info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL) {
      ::kill(child, static_cast<int>(info.ssi_signo));
    }
  }
}

// What the device had to complain about would otherwise be gone with its directory.
void show_complaints(std::ifstream& log) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(log, line);) {
    if (line.find(" warning: ") != std::string::npos ||
        line.find(" error: ") != std::string::npos) {
      lines.push_back(line);
    }
  }
  for (std::size_t i = 0; i < lines.size() && i < kLogLines; ++i) {
    std::fprintf(stderr, "vgpu: device log: %s\n", lines[i].c_str());
  }
  if (lines.size() > kLogLines) {
    std::fprintf(stderr, "vgpu: device log: ... and %zu more\n", lines.size() - kLogLines);
  }
}

void show_stats_of(const std::string& directory) {
  Result<Client> client = Client::connect(directory);
  Result<std::string> json = client ? client->call(wire::kind_stats) : client.error();
  if (!json) {
    gp::report_error(json.error());
    return;
  }
  std::fputs(stats_table(*json).c_str(), stderr);
}

Result<int> run_child(const std::string& directory, std::vector<std::string>& command) {
  const Signals signals;
  const pid_t child = ::fork();
  if (child < 0) {
    return Error{errno, "fork", ""};
  }
  if (child == 0) {
    signals.restore();
    const gp::Status entered = enter_device(directory);
    ::_exit(entered ? execute(gp::argument_pointers(command).data())
                    : gp::report_error(entered.error()));
  }
  const int status = wait_for(child, signals);
  signals.restore();
  return status;
}

Result<int> run_on_own_device(const DeviceOptions& options, bool show_stats,
                              std::vector<std::string>& command) {
  const std::string directory = TRY(directory_of(name_for_run()));
  remove_dead_runs();
  ServerProcess server = TRY(start_server(directory, options.words, Lifetime::until_starter_ends));
  std::ifstream log(directory + "/log");
  const int status = TRY(run_child(directory, command));
  if (show_stats) {
    show_stats_of(directory);
  }
  server.lifetime.reset();
  int server_status = 0;
  ::waitpid(server.pid, &server_status, 0);
  show_complaints(log);
  if (server_status != 0) {
    std::fprintf(stderr, "vgpu: vgpud ended with status %d\n", exit_status(server_status));
    (void)protocol::RuntimeDirectory::claim(directory);  // what it could not remove itself
  }
  return status;
}

}  // namespace

int run(const DeviceOptions& options, bool show_stats, std::vector<std::string> command) {
  const Result<int> status = run_on_own_device(options, show_stats, command);
  return status ? *status : gp::report_error(status.error());
}

int exec(const std::string& name, std::vector<std::string> command) {
  const Result<std::string> directory = directory_of(name);
  if (!directory) {
    return gp::report_error(directory.error());
  }
  Result<Client> client = Client::connect(*directory);
  if (!client) {
    return gp::report_error(client.error());
  }
  const gp::Status entered = enter_device(*directory);
  return entered ? execute(gp::argument_pointers(command).data())
                 : gp::report_error(entered.error());
}

}  // namespace vgpu::cli
