// Discovery on the virtual GPU, with a real HIP program. The tests run under `vgpu run`.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include "discover/discover.h"

extern char** environ;

namespace gp::discover {
namespace {

using namespace std::chrono_literals;

// A HIP program that makes streams when told to.
class Job {
 public:
  explicit Job(const char* tag = "") {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe2");
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    ::setenv("AMD_QUEUE_TAG", tag, 1);
    std::string program = GPREEMPT_HIP_DIR "/discover_streams";
    char* arguments[] = {program.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ), 0);
    ::unsetenv("AMD_QUEUE_TAG");
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    in_.reset(to[1]);
    out_.reset(from[0]);
    EXPECT_EQ(answer(), "ready");
  }
  ~Job() { kill(); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  pid_t pid() const { return pid_; }
  void make_stream(const std::string& priority) {
    const std::string line = "stream " + priority + "\n";
    EXPECT_EQ(::write(in_.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    EXPECT_EQ(answer(), "done");
  }
  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = 0;
    }
  }

 private:
  std::string answer() {
    std::string line;
    for (char c; ::read(out_.get(), &c, 1) == 1 && c != '\n';) {
      line += c;
    }
    return line;
  }
  pid_t pid_ = 0;
  UniqueFd in_, out_;
};

Snapshot snapshot_now() {
  auto snapshot = take_snapshot(system_os(), {}, {}, {});
  EXPECT_TRUE(snapshot);
  return snapshot ? std::move(*snapshot) : Snapshot{};
}

TEST(LiveSnapshot, ShowsTheQueuesOfAHipProgram) {
  Job job("online-live");
  job.make_stream("low");
  const Snapshot snapshot = snapshot_now();
  EXPECT_TRUE(snapshot.warnings.empty()) << snapshot.warnings.at(0);
  ASSERT_EQ(snapshot.nodes.size(), 1u);
  EXPECT_EQ(gfx_name(snapshot.nodes[0]), "gfx90a");
  EXPECT_EQ(snapshot.nodes[0].hqds, 24u);
  const Process* process = find_process(snapshot, job.pid());
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->key, *process_key(system_os(), {}, job.pid()));
  EXPECT_EQ(process->uid, ::getuid());
  EXPECT_EQ(process->work_class, WorkClass::online);
  EXPECT_NE(process->command.find("discover_streams"), std::string::npos);
  ASSERT_FALSE(process->queues.empty());
  for (const Queue& queue : process->queues) {
    EXPECT_TRUE(queue.queue_id);
    EXPECT_EQ(queue.gpu_id, snapshot.nodes[0].gpu_id);
    EXPECT_EQ(queue.active, true);
    EXPECT_TRUE(queue.mapped);
  }
  EXPECT_EQ(snapshot.nodes[0].active_queues, process->queues.size());
}

TEST(LiveSnapshot, TellsQueuesOfDifferentPrioritiesApart) {
  Job job;
  for (const char* priority : {"low", "high", "low"}) {
    job.make_stream(priority);
  }
  const Snapshot snapshot = snapshot_now();
  const Process* process = find_process(snapshot, job.pid());
  ASSERT_NE(process, nullptr);
  EXPECT_TRUE(process->unassigned.empty());
  std::vector<u32> high;
  for (const Queue& queue : process->queues) {
    if (queue.type == QueueType::compute) {
      ASSERT_TRUE(queue.priority);
      if (*queue.priority > 7) {
        high.push_back(*queue.queue_id);
      }
    }
  }
  EXPECT_EQ(high.size(), 1u);
}

TEST(LiveSnapshot, DoesNotShowAProcessThatHasBeenKilled) {
  Job job;
  job.make_stream("low");
  const pid_t pid = job.pid();
  ASSERT_NE(find_process(snapshot_now(), pid), nullptr);
  job.kill();
  EXPECT_EQ(find_process(snapshot_now(), pid), nullptr);
}

// Waits for the watch to wake and takes its events, until `done` or half a minute has passed.
template <class Done>
void follow(Watch& watch, std::vector<QueueEvent>& seen, Done done) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!done(seen) && std::chrono::steady_clock::now() < deadline) {
    pollfd ready{watch.fd(), POLLIN, 0};
    ASSERT_GE(::poll(&ready, 1, 1000), 0);
    const auto events = watch.take_events();
    ASSERT_TRUE(events);
    seen.insert(seen.end(), events->begin(), events->end());
  }
}

std::size_t count(const std::vector<QueueEvent>& events, bool appeared) {
  return static_cast<std::size_t>(std::ranges::count(events, appeared, &QueueEvent::appeared));
}

TEST(LiveWatch, ReportsQueuesThatComeAndGo) {
  const auto watch = Watch::create(system_os(), {});
  ASSERT_TRUE(watch);
  ASSERT_TRUE((*watch)->take_events()->empty());
  std::vector<QueueEvent> seen;
  Job job;
  job.make_stream("low");
  follow(**watch, seen, [](const auto& events) { return count(events, true) >= 2; });
  const std::size_t before = count(seen, true);
  EXPECT_GE(before, 1u);
  EXPECT_EQ(seen.at(0).key.process, *process_key(system_os(), {}, job.pid()));
  job.kill();
  follow(**watch, seen, [&](const auto& events) { return count(events, false) == before; });
  EXPECT_EQ(count(seen, false), count(seen, true));
}

TEST(LiveWatch, SleepsWhileThereIsNothingToWatch) {
  const auto watch = Watch::create(system_os(), {});
  ASSERT_TRUE(watch);
  ASSERT_TRUE((*watch)->take_events());
  pollfd ready{(*watch)->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 1500), 0) << "nobody has the device open";
  Job job;
  EXPECT_EQ(::poll(&ready, 1, 10'000), 1) << "somebody opened it";
}

TEST(LiveWatch, DoesNotPollAProcessThatSomebodySpeaksForButSeesItsEnd) {
  const auto watch = Watch::create(system_os(), {});
  ASSERT_TRUE(watch);
  Job job;
  job.make_stream("low");
  std::vector<QueueEvent> seen;
  follow(**watch, seen, [](const auto& events) { return count(events, true) >= 1; });
  (*watch)->covered(seen.at(0).key.process, true);
  ASSERT_TRUE((*watch)->take_events());
  pollfd ready{(*watch)->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 1500), 0) << "it is not polled";
  job.kill();
  follow(**watch, seen, [](const auto& events) { return count(events, false) >= 1; });
  EXPECT_EQ(count(seen, false), count(seen, true));
}

}  // namespace
}  // namespace gp::discover
