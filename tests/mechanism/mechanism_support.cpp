#include "mechanism_support.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "mechanism/target_process.h"

namespace gp::mechanism {
namespace {

constexpr auto kPatience = 30s;  // far more than anything here takes on a busy machine

nlohmann::json device_stats() {
  const std::string device =
      std::filesystem::path(std::getenv("GPREEMPT_VGPU_DIR")).filename().string();
  Child vgpu({program("vgpu"), "stats", device, "--json"});
  std::string text;
  for (std::string line = vgpu.line(); !line.empty(); line = vgpu.line()) {
    text += line;
  }
  return nlohmann::json::parse(text);
}

unsigned long sum_of(const char* count) {
  unsigned long sum = 0;
  const nlohmann::json stats = device_stats();
  for (const auto& gpu : stats["gpus"]) {
    sum += gpu[count].get<unsigned long>();
  }
  return sum;
}

}  // namespace

Child::Child(const Words& words) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
    std::perror("pipe2");
    std::abort();
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const int error =
      posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  in_.reset(to[1]);
  out_.reset(from[0]);
  if (error != 0) {
    ADD_FAILURE() << words[0] << ": " << strerror(error);
    waited_ = true;
  }
}

Child::~Child() {
  if (!waited_) {
    signal(SIGKILL);
    wait();
  }
}

ProcessKey Child::key() const {
  const auto state = process_state(pid_);
  return {pid_, state ? state->start_time : 0};
}

void Child::say(const std::string& line) const {
  const std::string text = line + "\n";
  if (::write(in_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ADD_FAILURE() << "it does not listen";
  }
}

std::string Child::line() {
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      const std::string found = unread_.substr(0, end);
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

void Child::signal(int number) const { ::kill(pid_, number); }

int Child::wait() {
  int status = 0;
  waited_ = true;
  if (waitpid(pid_, &status, 0) != pid_) {
    return -1;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Victim::Victim(const Words& options)
    : Child([&] {
        Words words = {hip_program("mechanism_victim")};
        words.insert(words.end(), options.begin(), options.end());
        return words;
      }()) {
  EXPECT_EQ(line(), "ready");
}

bool Victim::stands_still() {
  const unsigned long before = value();
  std::this_thread::sleep_for(30ms);
  return value() == before;
}

std::string program(const std::string& name) { return std::string(GPREEMPT_BIN_DIR) + "/" + name; }
std::string hip_program(const std::string& name) {
  return std::string(GPREEMPT_BIN_DIR) + "/../hip/" + name;
}

std::map<u32, std::string> queue_states(pid_t pid) {
  std::map<u32, std::string> states;
  const nlohmann::json stats = device_stats();
  for (const auto& queue : stats["queues"]) {
    if (queue["pid"] == pid) {
      states[queue["queue_id"]] = queue["state"];
    }
  }
  return states;
}

bool any_stopped(pid_t pid) {
  for (const auto& [id, state] : queue_states(pid)) {
    if (state != "mapped" && state != "waiting") {
      return true;
    }
  }
  return false;
}

bool all_run_again(pid_t pid) {
  return eventually([&] { return !any_stopped(pid); });
}

bool all_stopped(pid_t pid) {
  const auto states = queue_states(pid);
  return std::none_of(states.begin(), states.end(), [](const auto& queue) {
    return queue.second == "mapped" || queue.second == "waiting";
  });
}

unsigned long unmaps() { return sum_of("unmaps"); }
unsigned long run_lists() { return sum_of("runlists"); }
u32 first_gpu_id() { return device_stats()["gpus"][0]["gpu_id"]; }

testing::AssertionResult is_error(const Error& error, int code, const std::string& text) {
  if (error.code != code) {
    return testing::AssertionFailure()
           << "the code is " << error.code << ", not " << code << ": " << error.message();
  }
  if (error.message().find(text) == std::string::npos) {
    return testing::AssertionFailure() << "\"" << text << "\" is not in: " << error.message();
  }
  return testing::AssertionSuccess();
}

std::unique_ptr<Controller> make_controller(const AttachOptions& options) {
  auto controller = Controller::create(options);
  EXPECT_TRUE(succeeds(controller));
  return controller ? std::move(*controller) : nullptr;
}

LeaseEvent next_event(Controller& controller) {
  pollfd fd{controller.event_fd(), POLLIN, 0};
  const int timeout_ms = static_cast<int>(std::chrono::milliseconds(kPatience).count());
  EXPECT_EQ(::poll(&fd, 1, timeout_ms), 1) << "no lease ended";
  const auto events = controller.take_events();
  EXPECT_EQ(events.size(), 1u);
  return events.empty() ? LeaseEvent{} : events.front();
}

}  // namespace gp::mechanism
