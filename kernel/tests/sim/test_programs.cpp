// Our own programs on the patched driver, run as a user runs them: gpreempt, and gpreemptd with an
// online and an offline program. What they did is read from the firmware.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "peer.h"
#include "preempt.h"

namespace {

// A program in the background; one that still runs at the end of the scope is killed.
class Program {
 public:
  explicit Program(std::vector<std::string> words) : pid_(fork()) {
    if (pid_ == 0) {
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      dup2(open("/dev/null", O_RDWR), STDIN_FILENO);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
  }
  ~Program() {
    if (pid_ > 0)
      kill_now();
  }
  Program(const Program&) = delete;

  int exit_status() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void kill_now() { end(SIGKILL); }
  int end(int signal) {
    kill(pid_, signal);
    return exit_status();
  }

 private:
  pid_t pid_;
};

// A process that gpreemptd may stop.
struct OfflinePeer {
  OfflinePeer() {
    setenv("GPREEMPT_CLASS", "offline", 1);
    peer.emplace();
    unsetenv("GPREEMPT_CLASS");
  }
  std::optional<Peer> peer;
};

// gpreemptd is two processes: the daemon, and a guardian that would start it again.
void kill_all(const char* name) {
  CHECK_EQ(system(("killall -9 " + std::string(name)).c_str()), 0);
}

constexpr char daemon_socket[] = "/run/gpreempt-test.sock";

bool daemon_answers() {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  strcpy(address.sun_path, daemon_socket);
  const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return connected;
}

// Its socket may still be there from one that was killed: nobody listens on that.
void wait_for_daemon() { wait_until(daemon_answers, "gpreemptd does not start"); }

Program suspend(const Peer& target, const char* time) {
  return Program({"gpreempt", "suspend", "--pid", std::to_string(target.pid()), "--mechanism",
                  "kernel", "--for", time});
}

}  // namespace

TEST(gpreempt_suspends_a_process_for_the_time_it_is_told) {
  Peer target, other;
  int queue = target.create_queue(0, 7), others = other.create_queue(0, 7);
  Program command = suspend(target, "2s");
  wait_until([&] { return !runs(target.pid(), queue); }, "gpreempt has not stopped the queue");
  CHECK(runs(other.pid(), others));
  CHECK_EQ(command.exit_status(), 0);
  CHECK(runs(target.pid(), queue));
}

TEST(a_queue_made_while_gpreempt_suspends_its_process_starts_stopped) {
  Peer target;
  int queue = target.create_queue(0, 7);
  Program command = suspend(target, "1min");
  wait_until([&] { return !runs(target.pid(), queue); }, "gpreempt has not stopped the queue");
  int later = target.create_queue(1, 7);
  CHECK(!runs(target.pid(), later, 1));
}

TEST(what_gpreempt_has_suspended_runs_again_when_it_is_killed) {
  Peer target;
  int queue = target.create_queue(0, 7);
  Program command = suspend(target, "1min");
  wait_until([&] { return !runs(target.pid(), queue); }, "gpreempt has not stopped the queue");
  command.kill_now();
  wait_until([&] { return runs(target.pid(), queue); }, "the queue stays stopped");
}

TEST(doctor_finds_that_the_driver_has_the_preemption_calls) {
  Peer target;
  target.create_queue(0, 7);
  FILE* doctor = popen(("gpreempt doctor --pid " + std::to_string(target.pid())).c_str(), "r");
  std::string text;
  char part[4096];
  while (size_t bytes = fread(part, 1, sizeof part, doctor)) text.append(part, bytes);
  pclose(doctor);
  if (text.find("kernel            usable") == std::string::npos)
    throw Failed("doctor says:\n" + text);
}

TEST(gpreemptd_stops_offline_work_while_a_program_has_online_work) {
  setenv("GPREEMPT_SOCKET", daemon_socket, 1);
  Program daemon({"gpreemptd", "--socket", daemon_socket});
  wait_for_daemon();
  OfflinePeer first, second;
  const int queue = first.peer->create_queue(0, 7), other = second.peer->create_queue(0, 7);
  const int elsewhere = second.peer->create_queue(1, 7);
  {
    Program online({"kernel_online_program"});
    wait_until([&] { return !runs(first.peer->pid(), queue); }, "the first is not stopped");
    wait_until([&] { return !runs(second.peer->pid(), other); }, "the second is not stopped");
    // A job is stopped as a whole.
    CHECK(!runs(second.peer->pid(), elsewhere, 1));
  }
  wait_until([&] { return runs(first.peer->pid(), queue); }, "the first stays stopped");
  wait_until([&] { return runs(second.peer->pid(), other); }, "the second stays stopped");
  CHECK_EQ(daemon.end(SIGTERM), 0);
}

TEST(what_gpreemptd_has_stopped_runs_again_when_it_is_killed) {
  setenv("GPREEMPT_SOCKET", daemon_socket, 1);
  OfflinePeer training;
  const int queue = training.peer->create_queue(0, 7);
  Program daemon({"gpreemptd", "--socket", daemon_socket});
  wait_for_daemon();
  Program online({"kernel_online_program"});
  wait_until([&] { return !runs(training.peer->pid(), queue); }, "the program is not stopped");
  kill_all("gpreemptd");
  wait_until([&] { return runs(training.peer->pid(), queue); }, "the program stays stopped");
}
