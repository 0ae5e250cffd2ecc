// What is going on, on standard error: one line per phase that changes on a terminal; elsewhere a
// line when a phase begins and one when it is done.
#pragma once

#include <chrono>
#include <string>

namespace gp::demo {

class Progress {
 public:
  Progress();
  ~Progress();  // leaves no half line behind
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(const std::string& phase);
  // Something new about it; cheap to call often.
  void update(const std::string& detail);
  void done(const std::string& outcome);
  // A line of its own, between phases.
  void say(const std::string& text);

 private:
  void show(const std::string& detail);

  bool terminal_;
  bool line_open_ = false;
  std::string phase_;
  std::chrono::steady_clock::time_point began_, shown_;
};

}  // namespace gp::demo
