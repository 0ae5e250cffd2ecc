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
#include "libc/clock.h"
#include "support/eventually.h"
#include "support/temporary_directory.h"
#include "wire/page.h"
#include "wire/wire.h"

namespace gp::agent {

using Settings = std::map<std::string, std::string>;

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
  explicit Connection(UniqueFd socket);  // receives the hello, makes the page
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  const wire::Hello& hello() const { return hello_; }
  bool can(Mechanism mechanism) const {
    return MechanismSet::of_bits(hello_.abilities).has(mechanism);
  }
  wire::Page& page() const { return *page_; }
  int wake_fd() const { return wake_fd_.get(); }

  void welcome(u32 work_class, bool watch_completion, u64 lease_ns = 2'000'000'000);
  // Sends the command and waits for the answer.
  wire::Done stop(Mechanism mechanism = Mechanism::self_debug, u64 duration_ns = 60'000'000'000);
  wire::Done start();
  void send(const wire::Header& message) const;
  // The next message of this kind; others before it are kept in mind as queues created.
  template <class Message>
  Message expect(wire::Kind kind) {
    Message message{};
    receive(kind, &message, sizeof message);
    return message;
  }
  bool ended();  // waits for the end of the connection
  void close() { socket_.reset(); }
  const std::vector<wire::QueueCreated>& created() const { return created_; }

 private:
  void receive(wire::Kind kind, void* message, std::size_t size);
  wire::Done command(wire::Command command);

  UniqueFd socket_, page_fd_, wake_fd_;
  bool sent_page_ = false;
  wire::Hello hello_;
  wire::Page* page_ = nullptr;
  std::vector<wire::QueueCreated> created_;
  u32 sequence_ = 0;
};

class AgentTest : public testing::Test {
 protected:
  std::string socket() const { return directory_ + "/gpreemptd.sock"; }
  const std::string& directory() const { return directory_; }
  void listen();
  void stop_listening();  // as a daemon that ends in good order
  Connection accept();    // waits
  int listener() const { return listener_.get(); }

 private:
  const TemporaryDirectory temporary_;
  const std::string directory_ = temporary_.path();
  UniqueFd listener_;
};

}  // namespace gp::agent
