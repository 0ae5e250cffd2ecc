#include "cli/in_container.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>

#include "base/arguments.h"
#include "base/exit_code.h"
#include "base/unique_fd.h"
#include "cli/system.h"

namespace gp::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// Ends the program, if it is still the one, when its input ends: docker does not pass signals on to
// what it has started by exec. $1: where it lies.
constexpr char kEndsWithItsInput[] =
    "place=$1; shift\n"
    "exec 3<&0\n"
    "{ cat <&3; grep -qF \"$place\" /proc/$$/cmdline && kill -INT $$; } > /dev/null 2>&1 &\n"
    "exec \"$@\" < /dev/null 3<&-\n";

Result<std::string> find_tool() {
  const char* const path = std::getenv("PATH");
  for (const char* tool : {"docker", "podman"}) {
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (::access(fmt::format("{}/{}", folder, tool).c_str(), X_OK) == 0) {
        return std::string(tool);
      }
    }
  }
  return Error{ENOTSUP, "neither docker nor podman is in PATH",
               "copy the release into the container and run it there: docs/hardware.md"};
}

// The unpacked release: bin/gpreempt is this program.
Result<std::string> find_release() {
  std::error_code code;
  const fs::path folder = fs::read_symlink("/proc/self/exe", code).parent_path().parent_path();
  if (code || !fs::exists(folder / "install.sh", code)) {
    return Error{ENOTSUP, fmt::format("{} is no unpacked release", folder.string()),
                 "--container copies one: use bin/gpreempt of gpreempt-VERSION-linux-x86_64"};
  }
  return folder.string();
}

// In a process group of its own: Ctrl-C is for us. Its standard input is `input`, or empty.
Result<pid_t> start(Words words, int input = -1) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (input >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, words[0].c_str(), &actions, &attributes,
                                    argument_pointers(words).data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? Result<pid_t>(pid) : Error{failed, words[0], ""};
}

int as_shells_show_it(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<int> run(Words words) {
  const pid_t pid = TRY(start(std::move(words)));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return as_shells_show_it(status);
}

// Until it ends. Our signals end its input, and with that it.
Result<int> run_with_input(Words words) {
  constexpr int kTickMs = 100;
  const UniqueFd signals = TRY(catch_end_signals());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error{errno, "pipe", ""};
  }
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  const pid_t pid = TRY(start(std::move(words), read_end.get()));
  read_end.reset();
  // The pipe does not tell: what waits in the container for its end is a reader, too.
  for (;;) {
    pollfd ended = {signals.get(), static_cast<short>(write_end ? POLLIN : 0), 0};
    ::poll(&ended, 1, kTickMs);
    if ((ended.revents & POLLIN) != 0) {
      write_end.reset();
    }
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      return as_shells_show_it(status);
    }
  }
}

class InContainer {
 public:
  InContainer(std::string tool, std::string container)
      : tool_(std::move(tool)), container_(std::move(container)) {
    std::random_device random;
    place_ = fmt::format("/tmp/gpreempt-{:08x}{:08x}", random(), random());
  }
  InContainer(const InContainer&) = delete;
  InContainer& operator=(const InContainer&) = delete;
  // As root: the files are root's, the results those of the container's user.
  ~InContainer() {
    if (!copied_) {
      return;
    }
    const auto removed =
        run({tool_, "exec", "-u", "0", container_, "rm", "-rf", place_, results()});
    if (!removed || *removed != 0) {
      fmt::print(stderr, "{} is left in the container {}\n", place_, container_);
    }
  }

  std::string results() const { return place_ + "-results"; }

  Status copy_in(const std::string& folder) {
    const int status = TRY(run({tool_, "cp", folder, of(place_)}));
    if (status == 0) {
      copied_ = true;
      return ok();
    }
    return Error{ENOTSUP, fmt::format("{} cannot copy into the container {}", tool_, container_),
                 fmt::format("{} ps lists those that run", tool_)};
  }
  Result<int> gpreempt(const Words& words) const {
    Words all = {tool_,
                 "exec",
                 "-i",
                 container_,
                 "sh",
                 "-c",
                 kEndsWithItsInput,
                 "sh",
                 place_,
                 place_ + "/bin/gpreempt"};
    all.insert(all.end(), words.begin(), words.end());
    return run_with_input(std::move(all));
  }
  bool has(const std::string& path) const {
    const auto status = run({tool_, "exec", container_, "test", "-e", path});
    return status && *status == 0;
  }
  Status copy_out(const std::string& path, const std::string& folder) const {
    if (TRY(run({tool_, "cp", of(path), folder})) == 0) {
      return ok();
    }
    return Error{EIO, fmt::format("{} cannot copy {} to {}", tool_, of(path), folder), ""};
  }

 private:
  std::string of(const std::string& path) const { return fmt::format("{}:{}", container_, path); }

  std::string tool_, container_, place_;
  bool copied_ = false;
};

}  // namespace

Result<int> verify_in_container(
    const std::string& container, const std::string& output,
    const std::function<std::vector<std::string>(const std::string& output)>& words_for) {
  const std::string release = TRY(find_release());
  const fs::path here = fs::absolute(output).lexically_normal();
  const fs::path name = here.has_filename() ? here.filename() : here.parent_path().filename();
  InContainer inside(TRY(find_tool()), container);
  TRY(inside.copy_in(release));
  const std::string results = fmt::format("{}/{}", inside.results(), name.string());
  const int status = TRY(inside.gpreempt(words_for(results)));
  const fs::path folder =
      here.has_filename() ? here.parent_path() : here.parent_path().parent_path();
  for (const std::string& made : {results, results + ".tar.gz"}) {
    if (inside.has(made)) {
      TRY(inside.copy_out(made, folder.string()));
      fmt::print("Brought from {}: {}\n", container, (folder / fs::path(made).filename()).string());
    }
  }
  return status;
}

}  // namespace gp::cli
