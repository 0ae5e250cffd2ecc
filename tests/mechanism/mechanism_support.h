// Tests of this folder run under `vgpu run`: the test program is the one that stops, and its
// targets are real HIP programs (tests/hip/mechanism_victim.hip) it starts on the same device.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "mechanism/controller.h"
#include "mechanism/mechanism.h"
#include "support/eventually.h"

namespace gp::mechanism {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

// A child process with pipes to its standard input and output.
class Child {
 public:
  explicit Child(const Words& words);
  ~Child();  // kills it, waits for it
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  ProcessKey key() const;
  void say(const std::string& line) const;
  // The next line it prints; empty if it ended.
  std::string line();
  // Both.
  std::string ask(const std::string& question) {
    say(question);
    return line();
  }
  void signal(int number) const;
  // The status a shell would show: 128 + signal if it was killed.
  int wait();

 private:
  pid_t pid_ = 0;
  UniqueFd in_, out_;
  std::string unread_;
  bool waited_ = false;
};

// A HIP program with a kernel that counts; tests/hip/mechanism_victim.hip says what it can do.
class Victim : public Child {
 public:
  explicit Victim(const Words& options = {});
  unsigned long value() { return std::stoul(ask("value")); }
  // Its kernel counts, now.
  bool makes_progress() { return ask("progress") == "progress"; }
  // Nothing can be waited for when the claim is that nothing happens: look for a while.
  bool stands_still();
};

std::string program(const std::string& name);  // of build/bin
std::string hip_program(const std::string& name);

// What the device says of the queues of a process: id -> "mapped", "waiting", "suspended", ...
std::map<u32, std::string> queue_states(pid_t pid);
bool any_stopped(pid_t pid);    // suspended, evicted or inactive
bool all_stopped(pid_t pid);    // every queue is
bool all_run_again(pid_t pid);  // waits
// Of all GPUs together.
unsigned long unmaps();
unsigned long run_lists();
u32 first_gpu_id();

// Succeeds only if it is an error with this code and this text in message().
testing::AssertionResult is_error(const Error& error, int code, const std::string& text);
template <class T>
testing::AssertionResult is_error(const Result<T>& result, int code, const std::string& text = "") {
  if (result) {
    return testing::AssertionFailure() << "it succeeded";
  }
  return is_error(result.error(), code, text);
}
template <class T>
testing::AssertionResult succeeds(const Result<T>& result) {
  return result ? testing::AssertionSuccess()
                : testing::AssertionFailure() << result.error().message();
}

std::unique_ptr<Controller> make_controller(const AttachOptions& options = {});
inline LeaseOptions lease_for(std::chrono::nanoseconds duration,
                              std::optional<Mechanism> mechanism = std::nullopt) {
  LeaseOptions options;
  options.deadline = Clock::now() + duration;
  options.mechanism = mechanism;
  return options;
}
// Waits for the next lease that ends by itself.
LeaseEvent next_event(Controller& controller);

}  // namespace gp::mechanism
