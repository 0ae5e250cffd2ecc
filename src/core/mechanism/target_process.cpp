#include "mechanism/target_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/text_table.h"
#include "os/os.h"

namespace gp::mechanism {
namespace {

template <class Number>
Number number_at(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The word with this index, from 0, in a text of words separated by blanks.
std::string_view word(std::string_view text, unsigned index) {
  for (; index > 0; index--) {
    const auto blank = text.find(' ');
    if (blank == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(blank + 1);
  }
  return text.substr(0, text.find(' '));
}

// The value of a line "Name:\tvalue".
std::string_view field(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const auto value = at + name.size();
    if ((at == 0 || text[at - 1] == '\n') && text.substr(value, 2) == ":\t") {
      const auto begin = value + 2;
      return text.substr(begin, text.find('\n', begin) - begin);
    }
  }
  return {};
}

Error no_such_process(pid_t pid) {
  return Error{ESRCH, fmt::format("there is no process with pid {}", pid), ""};
}

}  // namespace

Result<ProcessState> process_state(pid_t pid) {
  Os& os = system_os();
  const auto stat = os.read_file(fmt::format("/proc/{}/stat", pid));
  const auto status = os.read_file(fmt::format("/proc/{}/status", pid));
  if (!stat || !status) {
    return no_such_process(pid);
  }
  // The command's name stands in parentheses and may contain anything, parentheses too.
  const auto name_end = stat->rfind(") ");
  if (name_end == std::string::npos) {
    return Error{EBADMSG, fmt::format("/proc/{}/stat is not understood", pid), ""};
  }
  const std::string_view after_name = std::string_view(*stat).substr(name_end + 2);
  ProcessState state;
  state.state = after_name.front();
  state.parent = number_at<pid_t>(word(after_name, 1));
  state.start_time = number_at<u64>(word(after_name, 19));  // field 22 of the file
  state.tracer = number_at<pid_t>(field(*status, "TracerPid"));
  return state;
}

std::string describe_process(pid_t pid) {
  const auto name = system_os().read_file(fmt::format("/proc/{}/comm", pid));
  return name ? fmt::format("pid {} ({})", pid, printable(name->substr(0, name->find('\n'))))
              : fmt::format("pid {}", pid);
}

Result<UniqueFd> open_target(const ProcessKey& key) {
  if (key.pid <= 0) {
    return Error{EINVAL, fmt::format("{} is not a pid", key.pid), ""};
  }
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, key.pid, 0)));
  if (!pidfd) {
    // EINVAL: the number is that of a thread.
    return errno == ESRCH || errno == EINVAL
               ? no_such_process(key.pid)
               : Error{errno, fmt::format("cannot watch {}", describe_process(key.pid)), ""};
  }
  // Read after the pidfd was opened: if it is the right process now, the pidfd is of it.
  const ProcessState state = TRY(process_state(key.pid));
  if (state.state == 'Z' || state.state == 'X') {
    return Error{ESRCH, fmt::format("{} has ended", describe_process(key.pid)),
                 "it is a zombie: its parent has not waited for it yet"};
  }
  if (key.start_time != 0 && state.start_time != key.start_time) {
    return Error{ESRCH, fmt::format("the process that had pid {} has ended", key.pid),
                 "another process has that pid now"};
  }
  return pidfd;
}

// The text of a link is a name in the process's own mount namespace, where anything can have it.
// The virtual GPU's are no devices: its server knows them.
static bool is_kfd(Os& os, const std::string& place, const std::string& link) {
  if (link != "/dev/kfd") {
    return link == "/memfd:kfd (deleted)";
  }
  const auto there = os.status(place), here = os.status("/dev/kfd");
  return there && here && there->node != 0 && there->node == here->node;
}

Result<std::vector<int>> kfd_descriptors(pid_t pid) {
  Os& os = system_os();
  const std::string directory = fmt::format("/proc/{}/fd", pid);
  const auto names = os.list_directory(directory);
  if (!names) {
    return Error{EPERM, fmt::format("cannot see the files of {}", describe_process(pid)),
                 "it belongs to another user: run as root or with CAP_SYS_PTRACE"};
  }
  std::vector<int> numbers;
  for (const std::string& name : *names) {
    const std::string place = fmt::format("{}/{}", directory, name);
    const auto link = os.read_link(place);
    if (link && is_kfd(os, place, *link)) {
      numbers.push_back(number_at<int>(name));
    }
  }
  return numbers;
}

Result<UniqueFd> copy_descriptor(pid_t pid, int pidfd, int number) {
  constexpr long kPidfdGetfd = 438;  // SYS_pidfd_getfd, which old headers do not have
  UniqueFd fd(static_cast<int>(::syscall(kPidfdGetfd, pidfd, number, 0)));
  if (!fd) {
    return Error{errno, fmt::format("cannot get /dev/kfd of {}", describe_process(pid)),
                 "it needs CAP_SYS_PTRACE, or the same user"};
  }
  return fd;
}

Result<UniqueFd> open_kfd() {
  UniqueFd fd(::open("/dev/kfd", O_RDWR | O_CLOEXEC));
  if (fd) {
    return fd;
  }
  const int code = errno;
  std::string hint;
  struct stat node;
  if (code == ENOENT || code == ENODEV || code == ENXIO) {
    hint = "no AMD GPU driver: is amdgpu loaded (lsmod), or a virtual GPU in use (vgpu run)?";
  } else if ((code == EACCES || code == EPERM) && ::stat("/dev/kfd", &node) == 0) {
    hint = fmt::format("join the group that owns it (gid {}), or run as root", node.st_gid);
  }
  return Error{code, "cannot open /dev/kfd", hint};
}

}  // namespace gp::mechanism
