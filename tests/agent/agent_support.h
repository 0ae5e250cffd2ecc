// Tests of this folder run under `vgpu run`: the test program plays the daemon, and the agent lives
// in a real HIP program (tests/hip/agent_puppet.hip) that it starts on the same device.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "control/page.h"
#include "control/wire.h"

namespace gp::agent {

using Settings = std::map<std::string, std::string>;

// Waits until it is so; false if that takes longer than anything here may take.
bool eventually(const std::function<bool()>& condition);

// A program with the agent loaded; agent_puppet.hip says what that one can do. Others, too, say
// "ready" first.
class Puppet {
 public:
  explicit Puppet(const std::string& socket, const Settings& settings = {},
                  const std::string& program = GPREEMPT_HIP_DIR "/agent_puppet");
  ~Puppet();  // kills it
  Puppet(const Puppet&) = delete;
  Puppet& operator=(const Puppet&) = delete;

  pid_t pid() const { return pid_; }
  void say(const std::string& line) const;
  std::string line();  // empty if it ended
  std::string ask(const std::string& line) {
    say(line);
    return this->line();
  }
  unsigned long value() { return std::stoul(ask("value")); }
  // Nothing can be waited for when the claim is that nothing happens: look for a while.
  bool stands_still();
  void close_input() { in_.reset(); }
  void signal(int number) const;
  int wait();  // 128 + signal if it was killed

 private:
  pid_t pid_ = 0;
  UniqueFd in_, out_;
  std::string unread_;
  bool waited_ = false;
};

// One agent, as the daemon sees it.
class Connection {
 public:
  Connection() = default;
  explicit Connection(UniqueFd socket);  // receives the hello
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  const control::Hello& hello() const { return hello_; }
  control::Page& page() const { return *page_; }
  int page_fd() const { return page_fd_.get(); }
  int wake_fd() const { return wake_fd_.get(); }

  void welcome(control::ClassCode work_class, bool watch_completion, u64 lease_ns = 2'000'000'000);
  // Sends the command and waits for the answer.
  control::Done stop(control::Method method = control::Method::self_debug,
                     u64 duration_ns = 60'000'000'000);
  control::Done start();
  void send(const control::Header& message) const;
  // The next message of this kind; others before it are kept in mind as queues created.
  template <class Message>
  Message expect(control::Kind kind) {
    Message message{};
    receive(kind, &message, sizeof message);
    return message;
  }
  bool ended();  // waits for the end of the connection
  void close() { socket_.reset(); }
  const std::vector<control::QueueCreated>& created() const { return created_; }

 private:
  void receive(control::Kind kind, void* message, std::size_t size);
  control::Done command(control::Command command);

  UniqueFd socket_, page_fd_, wake_fd_;
  control::Hello hello_;
  control::Page* page_ = nullptr;
  std::vector<control::QueueCreated> created_;
  u32 sequence_ = 0;
};

class AgentTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::string socket() const { return directory_ + "/gpreemptd.sock"; }
  const std::string& directory() const { return directory_; }
  void listen();
  void stop_listening();  // as a daemon that ends in good order
  Connection accept();    // waits
  int listener() const { return listener_.get(); }

 private:
  std::string directory_;
  UniqueFd listener_;
};

u64 now_ns();

}  // namespace gp::agent
