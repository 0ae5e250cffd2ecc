#include "cli/lease_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/unique_fd.h"
#include "base/units.h"
#include "discover/discover.h"

namespace gp::cli {
namespace {

constexpr int kPatienceMs = 10'000;

// $XDG_RUNTIME_DIR/gpreempt, or /tmp/gpreempt-<uid>, where anybody could have put it.
Result<std::string> directory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string path = runtime != nullptr && runtime[0] == '/'
                               ? fmt::format("{}/gpreempt", runtime)
                               : fmt::format("/tmp/gpreempt-{}", ::geteuid());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{errno, fmt::format("create {}", path),
                 "set XDG_RUNTIME_DIR to a directory of yours"};
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return Error{errno, path, ""};
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    return Error{EPERM, fmt::format("{} is not a private directory of this user", path),
                 "remove it, or set XDG_RUNTIME_DIR"};
  }
  return path;
}

Result<ProcessKey> key_of(pid_t pid) { return discover::process_key(system_os(), {}, pid); }

Result<Holder> parse(const std::string& file, const std::string& text) {
  Holder holder;
  int used = 0;
  const int fields =
      std::sscanf(text.c_str(), "holder %d %lu target %d %lu%n", &holder.process.pid,
                  &holder.process.start_time, &holder.target.pid, &holder.target.start_time, &used);
  if (fields != 4 || used == 0) {
    return Error{EBADMSG, fmt::format("{} is damaged", file), "remove it"};
  }
  return holder;
}

}  // namespace

Result<LeaseFile> LeaseFile::create(const ProcessKey& target) {
  const ProcessKey self = TRY(key_of(::getpid()));
  const std::string path = fmt::format("{}/suspend-{}", TRY(directory()), self.pid);
  const std::string fresh = path + ".new";
  const std::string text = fmt::format("holder {} {} target {} {}\n", self.pid, self.start_time,
                                       target.pid, target.start_time);
  ::unlink(fresh.c_str());  // of a process before, with our pid
  const UniqueFd fd(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != std::ssize(text) ||
      ::rename(fresh.c_str(), path.c_str()) != 0) {
    return Error{errno, fmt::format("write {}", path), ""};
  }
  return LeaseFile(path);
}

LeaseFile::~LeaseFile() {
  if (!path_.empty()) {
    ::unlink(path_.c_str());
  }
}

Result<std::vector<Holder>> lease_holders() {
  const std::string where = TRY(directory());
  std::vector<Holder> holders;
  for (const std::string& name : TRY(system_os().list_directory(where))) {
    if (!name.starts_with("suspend-") || name.ends_with(".new")) {
      continue;
    }
    const std::string path = fmt::format("{}/{}", where, name);
    const Result<std::string> text = system_os().read_file(path);
    if (!text && text.error().code == ENOENT) {
      continue;  // ended meanwhile
    }
    const Holder holder = TRY(parse(path, text ? *text : ""));
    const Result<ProcessKey> now = key_of(holder.process.pid);
    if (now && *now == holder.process) {
      holders.push_back(holder);
    } else {
      ::unlink(path.c_str());
    }
  }
  return holders;
}

Status end_holder(const Holder& holder) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, holder.process.pid, 0)));
  if (!pidfd && errno != ESRCH) {
    return Error{errno, fmt::format("process {}", holder.process.pid), ""};
  }
  // The pidfd is of whoever had the pid at pidfd_open(); only now the check means something.
  const Result<ProcessKey> now = key_of(holder.process.pid);
  if (!pidfd || !now || *now != holder.process) {
    return ok();  // it has ended by itself
  }
  if (::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGTERM, nullptr, 0) != 0 && errno != ESRCH) {
    return Error{errno, fmt::format("signal process {}", holder.process.pid), ""};
  }
  pollfd gone = {pidfd.get(), POLLIN, 0};
  if (::poll(&gone, 1, kPatienceMs) != 1) {
    return Error{ETIMEDOUT, fmt::format("wait for process {} to end", holder.process.pid),
                 "kill it: the queues run again when it is dead"};
  }
  return ok();
}

}  // namespace gp::cli
