#include "daemon/who.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "discover/process_files.h"
#include "os/os.h"

namespace gp::daemon {
namespace {

std::optional<u64> namespace_of(const std::string& process, const char* kind) {
  const auto status = system_os().status(fmt::format("/proc/{}/ns/{}", process, kind));
  return status ? std::optional(status->inode) : std::nullopt;
}

// Root may look at everybody's user
// namespace, so what it cannot see is not at home; a user may look only at their own processes.
bool shares_our_user_namespace(const std::string& process) {
  static const auto ours = namespace_of("self", "user");
  const auto theirs = namespace_of(process, "user");
  return theirs ? theirs == ours : ::geteuid() != 0;
}

}  // namespace

Result<Who> who_is(pid_t pid) {
  Os& os = system_os();
  const std::string name = std::to_string(pid);
  Who who;
  who.key = TRY(discover::process_key(os, {}, pid));
  const discover::ProcessStatus status =
      discover::parse_status(TRY(os.read_file(fmt::format("/proc/{}/status", name))));
  if (!status.uid || !status.effective_uid || status.namespace_pids.empty()) {
    return Error{ENODATA, fmt::format("/proc/{}/status", name), ""};
  }
  who.uid = *status.uid;
  who.effective_uid = *status.effective_uid;
  who.groups = status.groups;
  who.inner_pid = status.namespace_pids.back();
  who.pid_namespace = namespace_of(name, "pid").value_or(0);
  // NSpid has one number for those who live where /proc is mounted.
  who.shares_our_pids = status.namespace_pids.size() == 1;
  who.is_at_home = who.shares_our_pids && shares_our_user_namespace(name);
  // What was read is of one process only if that is still there.
  if (TRY(discover::process_key(os, {}, pid)) != who.key) {
    return Error{ESRCH, fmt::format("process {}", pid), ""};
  }
  return who;
}

Result<Who> who_is(const PeerIdentity& peer) {
  const Who who = TRY(who_is(peer.pid));
  // A pidfd is readable when its process has ended. As it had not when we had read the files, they
  // were of the process that it stands for.
  pollfd end = {peer.pidfd.get(), POLLIN, 0};
  if (!peer.pidfd || ::poll(&end, 1, 0) != 0) {
    return Error{ESRCH, fmt::format("process {}, which made the connection, has ended", peer.pid),
                 ""};
  }
  if (peer.uid != who.uid && peer.uid != who.effective_uid) {
    return Error{EPERM, fmt::format("process {} is of another user now", peer.pid), ""};
  }
  return who;
}

}  // namespace gp::daemon
