// `gpreempt demo` as a user runs it, and what is left of it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "server/server_support.h"
#include "support/eventually.h"
#include "support/temporary_directory.h"

namespace gp::demo {

namespace fs = std::filesystem;
using vgpu::server::Child;
using vgpu::server::Outcome;
using vgpu::server::Words;

inline bool has_begun(Child& demo, const std::string& phase) {
  return demo.read_until(phase + " ...").find(phase + " ...") != std::string::npos;
}

// Everything the demo makes lies in a directory of the test, and every process it starts has that
// directory in its environment.
class Demo : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(temporary());
    ::setenv("XDG_RUNTIME_DIR", home_.c_str(), 1);
    ::setenv("TMPDIR", temporary().c_str(), 1);
    ::setenv("GPREEMPT_DEMO_TEST", home_.c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR", "GPREEMPT_DEMO_TEST"}) {
      ::unsetenv(name);
    }
  }

  std::string temporary() const { return home_ + "/tmp"; }
  std::string output() const { return home_ + "/output"; }
  // Its standard error comes with its standard output, to be read while it runs.
  Words command(const Words& more = {}, const char* rounds = "1") const {
    Words words = {"sh",
                   "-c",
                   "exec \"$0\" \"$@\" 2>&1",
                   GPREEMPT_BIN_DIR "/gpreempt",
                   "demo",
                   "--output",
                   output(),
                   "--duration",
                   "1s",
                   "--rounds",
                   rounds};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // The processes of this demo that are there now, and their names.
  std::vector<std::pair<pid_t, std::string>> processes() const {
    std::vector<std::pair<pid_t, std::string>> found;
    const std::string mark = "GPREEMPT_DEMO_TEST=" + home_;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "environ");
      const std::string environment((std::istreambuf_iterator<char>(file)), {});
      if (entry.path().filename() != std::to_string(::getpid()) &&
          environment.find(mark) != std::string::npos) {
        std::string name;
        std::getline(std::ifstream(entry.path() / "comm"), name);
        found.emplace_back(std::stoi(entry.path().filename()), name);
      }
    }
    return found;
  }
  bool runs(const std::string& name) const {
    const auto all = processes();
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& each) { return each.second == name; });
  }
  void kill_all(const std::string& name) const {
    for (const auto& [pid, its_name] : processes()) {
      if (its_name == name) {
        ::kill(pid, SIGKILL);
      }
    }
  }
  // What the demo keeps its sockets and logs in while it runs.
  std::size_t scratch_directories() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(temporary()), {}));
  }
  void expect_no_process_left() const {
    EXPECT_TRUE(eventually([&] { return processes().empty(); }))
        << testing::PrintToString(processes());
  }
  void expect_nothing_left() const {
    expect_no_process_left();
    EXPECT_TRUE(fs::is_empty(temporary()));
    EXPECT_TRUE(fs::is_empty(home_ + "/gpreempt-vgpu"));
    EXPECT_FALSE(fs::exists(output())) << "nothing was measured";
  }

  const TemporaryDirectory temporary_;
  const std::string home_ = temporary_.path();
};

}  // namespace gp::demo
