#include "daemon/daemon_support.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace gp::daemon {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 60s;  // far more than anything here takes on a busy machine

void run_child(const Words& words, const Environment& environment, int in, int out,
               const std::string& error_file) {
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  if (!error_file.empty()) {
    const int error = ::open(error_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(error, STDERR_FILENO);
  }
  for (const auto& [name, value] : environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Program::Program(const Words& words, const Environment& environment,
                 const std::string& error_file) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
    std::abort();
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    run_child(words, environment, in[0], out[1], error_file);
  }
  ::close(in[0]);
  ::close(out[1]);
  in_.reset(in[1]);
  out_.reset(out[0]);
}

Program::~Program() {
  if (!waited_) {
    signal(SIGKILL);
    wait();
  }
}

std::string Program::line() {
  std::size_t end = 0;
  while ((end = unread_.find('\n')) == std::string::npos) {
    pollfd ready = {out_.get(), POLLIN, 0};
    char buffer[512];
    ssize_t got = 0;
    if (::poll(&ready, 1, std::chrono::milliseconds(kPatience).count()) != 1 ||
        (got = ::read(out_.get(), buffer, sizeof buffer)) <= 0) {
      return "";
    }
    unread_.append(buffer, static_cast<std::size_t>(got));
  }
  const std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

bool Program::say(const std::string& line) const {
  const std::string text = line + "\n";
  return ::write(in_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

int Program::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  waited_ = true;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool Program::ended() {
  siginfo_t info{};
  return waited_ ||
         (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
          info.si_pid == pid_);
}

void DaemonTest::SetUp() { ::signal(SIGPIPE, SIG_IGN); }

void DaemonTest::TearDown() {
  if (HasFailure()) {
    std::fprintf(stderr, "the daemon said:\n%s", log().c_str());
    if (guardian_) {
      std::fprintf(stderr, "its status: %s\n", status().dump(1).c_str());
    }
  }
  if (guardian_) {
    stop_daemon();
  }
}

void DaemonTest::write_config(const std::string& text) const {
  std::ofstream(config_file()) << text;
}

std::string DaemonTest::log() const {
  std::ostringstream text;
  text << std::ifstream(directory_ + "/log").rdbuf();
  return text.str();
}

void DaemonTest::launch_daemon(const std::string& config, const Environment& environment) {
  write_config(config);
  Environment all = environment;
  all.insert(environment_.begin(), environment_.end());
  guardian_ = std::make_unique<Program>(
      Words{GPREEMPT_BIN_DIR "/gpreemptd", "--config", config_file(), "--socket", socket()}, all,
      directory_ + "/log");
}

void DaemonTest::start_daemon(const std::string& config, const Environment& environment) {
  launch_daemon(config, environment);
  ASSERT_TRUE(eventually([&] { return static_cast<bool>(wire::Client::connect(socket())); }));
}

int DaemonTest::stop_daemon() {
  guardian_->signal(SIGTERM);
  const int status = guardian_->wait();
  guardian_.reset();
  return status;
}

nlohmann::json DaemonTest::status() {
  nlohmann::json status;
  eventually([&] {  // a daemon that is being replaced does not answer at once
    auto client = wire::Client::connect(socket());
    const bool limited = client && client->set_timeout(2s);  // one that hangs does not answer
    const Result<std::string> text =
        limited ? client->text(wire::Kind::status) : Error{ECONNREFUSED, "no daemon", ""};
    status = text ? nlohmann::json::parse(*text) : nlohmann::json();
    return static_cast<bool>(text);
  });
  return status;
}

pid_t DaemonTest::daemon_pid() { return status()["daemon_pid"]; }

nlohmann::json DaemonTest::job_of(pid_t pid) {
  const nlohmann::json now = status();
  for (const auto& job : now["jobs"]) {
    for (const auto& each : job["pids"]) {
      if (each == pid) {
        return job;
      }
    }
  }
  return {{"state", nullptr}};
}

std::unique_ptr<Program> DaemonTest::puppet(const Environment& environment) {
  Environment all = environment;
  all.insert(environment_.begin(), environment_.end());
  all["GPREEMPT_SOCKET"] = socket();
  auto program = std::make_unique<Program>(Words{GPREEMPT_HIP_DIR "/agent_puppet"}, all);
  EXPECT_EQ(program->line(), "ready");
  return program;
}

std::unique_ptr<Program> DaemonTest::victim(const Words& options) {
  Words words = {GPREEMPT_HIP_DIR "/mechanism_victim"};
  words.insert(words.end(), options.begin(), options.end());
  Environment environment = {{"GPREEMPT_CLASS", "offline"}};
  environment.insert(environment_.begin(), environment_.end());
  auto program = std::make_unique<Program>(words, environment);
  EXPECT_EQ(program->line(), "ready");
  return program;
}

std::unique_ptr<Program> DaemonTest::online() {
  return puppet(
      {{"HSA_TOOLS_LIB", GPREEMPT_LIB_DIR "/libgpreempt_agent.so"}, {"GPREEMPT_CLASS", "online"}});
}

std::unique_ptr<Program> DaemonTest::offline(const Environment& more) {
  Environment environment = {{"HSA_TOOLS_LIB", GPREEMPT_LIB_DIR "/libgpreempt_agent.so"},
                             {"GPREEMPT_CLASS", "offline"}};
  environment.insert(more.begin(), more.end());
  return puppet(environment);
}

std::chrono::nanoseconds DaemonTest::as_busy_as_this_is(std::chrono::nanoseconds idle) {
  double load = 0;
  const double cpus = std::max(1U, std::thread::hardware_concurrency());
  const bool is_known = ::getloadavg(&load, 1) == 1;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      idle * std::max(1.0, is_known ? load / cpus : 4));
}

bool DaemonTest::runs(Program& puppet) { return puppet.ask("progress") == "ok"; }

// Nothing can be waited for when the claim is that nothing happens: look for a while.
bool DaemonTest::stands_still(Program& puppet) {
  const unsigned long before = value(puppet);
  std::this_thread::sleep_for(50ms);
  return value(puppet) == before;
}

}  // namespace gp::daemon
