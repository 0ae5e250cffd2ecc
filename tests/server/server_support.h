// Runs the real programs: vgpu, vgpud and a client, each test with a runtime directory of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "support/temporary_directory.h"

namespace vgpu::server {

using gp::UniqueFd;
using Words = std::vector<std::string>;

struct Outcome {
  int status = 0;  // exit status, or 128 + signal
  std::string out, err;
};

// A child process with its output read through a pipe.
class Child {
 public:
  explicit Child(const Words& words);
  ~Child();  // kills it if it still runs
  Child(Child&&) = default;
  pid_t pid() const { return pid_; }
  // Waits for a line of output; false if it ends without.
  bool expect_line(const std::string& line);
  // Waits for text in its output and returns all output so far; it lacks the text if it ended.
  std::string read_until(const std::string& text);
  void signal(int number) const;
  Outcome wait();

 private:
  pid_t pid_ = 0;
  UniqueFd out_, err_;
  std::string read_so_far_;
  bool waited_ = false;
};

Outcome run(const Words& words);

class ServerTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  static std::string program(const char* name) { return std::string(GPREEMPT_BIN_DIR "/") + name; }
  static std::string vgpu() { return program("vgpu"); }
  static std::string client() { return program("vgpu_test_client"); }

  Outcome vgpu(Words words) {
    words.insert(words.begin(), vgpu());
    return run(words);
  }
  Outcome start(const std::string& name, Words options = {});
  // The runtime directory of a device.
  std::string directory(const std::string& name) const { return devices() + "/" + name; }
  std::string devices() const { return home_ + "/gpreempt-vgpu"; }
  pid_t server_pid(const std::string& name);
  // The names below devices(): what is left.
  std::vector<std::string> leftovers() const;

 private:
  const gp::TemporaryDirectory temporary_;
  const std::string home_ = temporary_.path();
};

// Waits, with a generous deadline, until the process has gone (it need not be a child of ours).
bool has_ended(pid_t pid);

}  // namespace vgpu::server
