// A program the demo has started: its output is read line by line, and it never outlives us.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gp::demo {

struct Command {
  std::string name;  // for people: "trainer"
  std::vector<std::string> words;
  std::map<std::string, std::string> environment;  // added to ours
  std::string error_file;                          // where its standard error goes
  // What ends it when we go, in good order or not: SIGKILL, or SIGTERM for one with children.
  int end_signal = 0;
  bool listens = false;  // to lines we send(); else its standard input is /dev/null
};

class Child {
 public:
  // In a process group of its own: Ctrl-C is for us, and we see to the rest.
  static Result<Child> start(Command command);
  Child(Child&&) = default;
  Child& operator=(Child&&) = delete;
  ~Child();  // ends it

  const std::string& name() const { return command_.name; }
  pid_t pid() const { return pid_; }
  // To be polled; -1 when nothing more will come.
  int output() const { return closed_ ? -1 : output_.get(); }

  // Takes in what it has said and whether it has ended. Never waits.
  void update();
  bool said(const std::string& line) const;  // a whole line, ever since it started
  const std::vector<std::string>& lines() const { return lines_; }
  std::string last_line() const { return lines_.empty() ? "" : lines_.back(); }
  // As a shell shows it; empty while it runs.
  std::optional<int> status() const { return status_; }
  // Why it failed, in its own last words.
  Error failure() const;

  void signal(int number) const;
  // A line for its standard input. EPIPE if it has closed it.
  Status send(const std::string& line) const;
  // Sends its end signal and waits; kills what has not ended after a while.
  void end();

 private:
  Child(Command command, pid_t pid, UniqueFd output, UniqueFd input)
      : command_(std::move(command)),
        pid_(pid),
        output_(std::move(output)),
        input_(std::move(input)) {}
  void read_output();
  bool has_gone_within(std::chrono::milliseconds patience);

  Command command_;
  pid_t pid_;
  UniqueFd output_;      // non-blocking
  UniqueFd input_;       // a socket, so that a dead reader is an error and not SIGPIPE
  bool closed_ = false;  // at its other end
  std::string unread_;
  std::vector<std::string> lines_;
  std::optional<int> status_;
};

}  // namespace gp::demo
