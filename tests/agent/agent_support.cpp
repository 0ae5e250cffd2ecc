#include "agent/agent_support.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/socket.h"
#include "libc/eventfd.h"

namespace gp::agent {
namespace {

using namespace std::chrono_literals;
constexpr int kPatienceMs = 30'000;  // far more than anything here takes on a busy machine

std::vector<std::string> environment_with(const std::string& socket, const Settings& settings) {
  std::vector<std::string> out;
  for (char** variable = environ; *variable != nullptr; variable++) {
    out.emplace_back(*variable);
  }
  const auto set = [&](const std::string& name, const std::string& value) {
    std::string entry = name;
    entry += "=";
    std::erase_if(out, [&](const std::string& known) { return known.starts_with(entry); });
    out.push_back(entry + value);
  };
  set("HSA_TOOLS_LIB", GPREEMPT_LIB_DIR "/libgpreempt_agent.so");
  set("GPREEMPT_SOCKET", socket);
  for (const auto& [name, value] : settings) {
    set(name, value);
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& string : strings) {
    out.push_back(string.data());
  }
  out.push_back(nullptr);
  return out;
}

}  // namespace

// ---- Puppet ----

Puppet::Puppet(const std::string& socket, const Settings& settings, const std::string& program) {
  int to[2], from[2];
  EXPECT_EQ(pipe2(to, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(from, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::vector<std::string> words = {program};
  std::vector<std::string> environment = environment_with(socket, settings);
  waited_ = posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, pointers(words).data(),
                        pointers(environment).data()) != 0;
  EXPECT_FALSE(waited_) << "cannot start " << words[0];
  posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  in_.reset(to[1]);
  out_.reset(from[0]);
  EXPECT_EQ(line(), "ready");
}

Puppet::~Puppet() {
  if (!waited_) {
    signal(SIGKILL);
    wait();
  }
}

void Puppet::say(const std::string& line) const {
  std::string text = line;
  text += "\n";
  EXPECT_EQ(::write(in_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string Puppet::line() {
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string found = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return found;
    }
    char buffer[4096];
    const ssize_t size = ::read(out_.get(), buffer, sizeof buffer);
    if (size <= 0) {
      return {};
    }
    unread_.append(buffer, static_cast<std::size_t>(size));
  }
}

bool Puppet::stands_still() {
  const unsigned long before = value();
  std::this_thread::sleep_for(30ms);
  return value() == before;
}

void Puppet::signal(int number) const { ::kill(pid_, number); }

int Puppet::wait() {
  int status = 0;
  waited_ = true;
  if (waitpid(pid_, &status, 0) != pid_) {
    return -1;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// ---- Connection ----

Connection::Connection(UniqueFd socket) : socket_(std::move(socket)) {
  auto received = receive_message(socket_.get(), {reinterpret_cast<u8*>(&hello_), sizeof hello_});
  if (!received || received->size != sizeof hello_ || !received->files.empty()) {
    ADD_FAILURE() << "this is no hello";
    return;
  }
  page_fd_.reset(memfd_create("gpreempt-page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  wake_fd_.reset(make_event());
  EXPECT_EQ(ftruncate(page_fd_.get(), wire::kPageBytes), 0);
  EXPECT_EQ(fcntl(page_fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  void* memory =
      mmap(nullptr, wire::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd_.get(), 0);
  if (memory == MAP_FAILED) {
    ADD_FAILURE() << "the page cannot be mapped";
    return;
  }
  page_ = new (memory) wire::Page;
}

Connection::Connection(Connection&& other) noexcept { *this = std::move(other); }

Connection& Connection::operator=(Connection&& other) noexcept {
  socket_ = std::move(other.socket_);
  page_fd_ = std::move(other.page_fd_);
  wake_fd_ = std::move(other.wake_fd_);
  hello_ = other.hello_;
  created_ = std::move(other.created_);
  sequence_ = other.sequence_;
  sent_page_ = other.sent_page_;
  std::swap(page_, other.page_);
  return *this;
}

Connection::~Connection() {
  if (page_ != nullptr) {
    munmap(page_, wire::kPageBytes);
  }
}

void Connection::send(const wire::Header& message) const {
  const auto sent =
      send_message(socket_.get(), {reinterpret_cast<const u8*>(&message), message.size});
  EXPECT_TRUE(sent) << sent.error().message();
}

void Connection::welcome(u32 work_class, bool watch_completion, u64 lease_ns) {
  wire::Welcome welcome;
  if (work_class == wire::code_of(WorkClass::offline)) {
    welcome.mechanism = static_cast<u32>(Mechanism::self_debug);
  }
  welcome.work_class = work_class;
  welcome.watch_completion = watch_completion ? 1 : 0;
  welcome.lease_ns = lease_ns;
  const int files[] = {page_fd_.get(), wake_fd_.get()};
  const std::span<const int> first = sent_page_ ? std::span<const int>() : files;
  EXPECT_TRUE(send_message(socket_.get(), {reinterpret_cast<const u8*>(&welcome), sizeof welcome},
                           {}, first));
  sent_page_ = true;
}

void Connection::receive(wire::Kind kind, void* message, std::size_t size) {
  for (;;) {
    pollfd readable = {socket_.get(), POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, kPatienceMs), 1) << "no answer";
    alignas(8) u8 buffer[512];
    auto received = receive_message(socket_.get(), buffer);
    ASSERT_TRUE(received) << received.error().message();
    ASSERT_GE(received->size, sizeof(wire::Header)) << "the agent has gone";
    wire::Header header;
    std::memcpy(&header, buffer, sizeof header);
    ASSERT_EQ(header.magic, wire::kMagic);
    ASSERT_EQ(header.size, received->size);
    if (header.kind == wire::Kind::queue_created && header.kind != kind) {
      wire::QueueCreated created;
      std::memcpy(&created, buffer, sizeof created);
      created_.push_back(created);
      continue;
    }
    if (header.kind == kind) {
      ASSERT_EQ(received->size, size);
      std::memcpy(message, buffer, size);
      return;
    }
  }
}

wire::Done Connection::command(wire::Command command) {
  command.header.sequence = ++sequence_;
  send(command.header);
  wire::Done done = expect<wire::Done>(wire::Kind::done);
  EXPECT_EQ(done.header.sequence, sequence_);
  return done;
}

wire::Done Connection::stop(Mechanism mechanism, u64 duration_ns) {
  wire::Command stop;
  stop.mechanism = mechanism;
  stop.deadline_ns = monotonic_ns() + duration_ns;
  page_->lease_deadline_ns = stop.deadline_ns;
  return command(stop);
}

wire::Done Connection::start() {
  wire::Command start;
  start.header.kind = wire::Kind::start;
  return command(start);
}

bool Connection::ended() {
  for (;;) {
    pollfd readable = {socket_.get(), POLLIN, 0};
    alignas(8) u8 buffer[512];
    if (poll(&readable, 1, kPatienceMs) != 1) {
      return false;
    }
    auto received = receive_message(socket_.get(), buffer);
    if (!received || received->size == 0) {
      return true;
    }
  }
}

// ---- AgentTest ----

void AgentTest::listen() {
  auto listener = listen_on(socket());
  ASSERT_TRUE(listener) << listener.error().message();
  listener_ = std::move(*listener);
}

void AgentTest::stop_listening() {
  listener_.reset();
  std::filesystem::remove(socket());
}

Connection AgentTest::accept() {
  pollfd readable = {listener_.get(), POLLIN, 0};
  if (poll(&readable, 1, kPatienceMs) != 1) {
    ADD_FAILURE() << "no agent came";
    return {};
  }
  auto socket = accept_from(listener_.get());
  if (!socket) {
    ADD_FAILURE() << socket.error().message();
    return {};
  }
  return Connection(std::move(*socket));
}

}  // namespace gp::agent
