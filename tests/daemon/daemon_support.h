// Runs the real gpreemptd, HIP programs with and without the agent, and clients of all manners. The
// cases that need a GPU run under `vgpu run`.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "client/client.h"
#include "support/eventually.h"
#include "support/temporary_directory.h"

namespace gp::daemon {

using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

// A program with pipes to its input and output; standard error goes to a file.
class Program {
 public:
  Program(const Words& words, const Environment& environment, const std::string& error_file = "");
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();  // kills it

  pid_t pid() const { return pid_; }
  std::string line();  // the next it prints; empty if it ended
  bool say(const std::string& line) const;
  std::string ask(const std::string& line) { return say(line) ? this->line() : ""; }
  void end_input() { in_.reset(); }
  void signal(int number) const { ::kill(pid_, number); }
  int wait();  // as a shell shows it
  bool ended();

 private:
  pid_t pid_ = 0;
  UniqueFd in_, out_;
  std::string unread_;
  bool waited_ = false;
};

class DaemonTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  const std::string& directory() const { return directory_; }
  std::string socket() const { return directory_ + "/gpreemptd.sock"; }
  std::string config_file() const { return directory_ + "/gpreemptd.toml"; }
  void write_config(const std::string& text) const;
  // Starts the daemon; start_daemon() also waits until it answers.
  void start_daemon(const std::string& config = "", const Environment& environment = {});
  void launch_daemon(const std::string& config = "", const Environment& environment = {});
  Program& guardian() { return *guardian_; }
  pid_t daemon_pid();  // of the guardian's child; asks it
  int stop_daemon();
  std::string log() const;

  nlohmann::json status();
  // The job that this process belongs to; null if there is none.
  nlohmann::json job_of(pid_t pid);
  bool has_state(pid_t pid, const std::string& state) {
    return eventually([&] { return job_of(pid)["state"] == state; });
  }

  // For the daemon and all programs that are started from now on: another GPU, another clock.
  void use_environment(const Environment& environment) { environment_ = environment; }

  // HIP programs (tests/hip/agent_puppet.hip): "launch" begins endless work, "finish" ends it.
  std::unique_ptr<Program> online();
  std::unique_ptr<Program> offline(const Environment& more = {});
  std::unique_ptr<Program> puppet(const Environment& environment);
  // One without an agent (tests/hip/mechanism_victim.hip): counts for as long as it lives.
  std::unique_ptr<Program> victim(const Words& options = {});
  // On a machine that has more to do than CPUs everything takes as much longer.
  static std::chrono::nanoseconds as_busy_as_this_is(std::chrono::nanoseconds on_an_idle_machine);
  static unsigned long value(Program& puppet) { return std::stoul(puppet.ask("value")); }
  static bool runs(Program& puppet);
  static bool stands_still(Program& puppet);

 private:
  const TemporaryDirectory temporary_;
  const std::string directory_ = temporary_.path();
  Environment environment_;
  std::unique_ptr<Program> guardian_;
};

}  // namespace gp::daemon
