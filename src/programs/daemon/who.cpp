#include "daemon/who.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "discover/process_files.h"
#include "os/os.h"

namespace gp::daemon {
namespace {

constexpr u64 kUnknown = 1;   // no namespace has this number
constexpr int kDeepest = 33;  // namespaces within namespaces: user_namespaces(7)

std::string path_of(pid_t pid, const char* kind) {
  return fmt::format("/proc/{}/ns/{}", pid, kind);
}

u64 number_of(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 ? status.st_ino : 0;
}

u64 number_of(const std::string& path) {
  const auto status = system_os().status(path);
  return status ? status->inode : 0;
}

u64 our_user_namespace() {
  static const u64 ours = number_of("/proc/self/ns/user");
  return ours;
}

u64 our_pid_namespace() {
  static const u64 ours = number_of("/proc/self/ns/pid");
  return ours;
}

UniqueFd open_namespace(pid_t pid, const char* kind) {
  return UniqueFd(::open(path_of(pid, kind).c_str(), O_RDONLY | O_CLOEXEC));
}

// The outermost one around `file` within ours: what is made inside of that changes nothing. Empty:
// it is not within ours.
UniqueFd outermost(UniqueFd file, u64 ours) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    UniqueFd parent(::ioctl(file.get(), NS_GET_PARENT));
    if (!parent) {
      return {};
    }
    if (number_of(parent.get()) == ours) {
      return file;
    }
    file = std::move(parent);
  }
  return {};
}

struct UserNamespace {
  bool is_ours = false;
  u64 number = 0;  // of the outermost one
  std::optional<uid_t> owner;
};

UserNamespace user_namespace_of(pid_t pid) {
  UniqueFd file = open_namespace(pid, "user");
  if (!file) {
    // Root may look at everybody's, so what it cannot see is not ours; a user may look only at
    // their own processes.
    return {::geteuid() != 0, 0, std::nullopt};
  }
  if (number_of(file.get()) == our_user_namespace()) {
    return {true, 0, std::nullopt};
  }
  file = outermost(std::move(file), our_user_namespace());
  uid_t owner = 0;
  const bool is_known = file && ::ioctl(file.get(), NS_GET_OWNER_UID, &owner) == 0;
  return {false, file ? number_of(file.get()) : 0, is_known ? std::optional(owner) : std::nullopt};
}

// The number of the container that root has made around a process in our own user namespace, by
// its pid namespace, which nobody can leave. 0: none; users can make such a one only within a user
// namespace of theirs.
u64 container_of(pid_t pid) {
  UniqueFd file = open_namespace(pid, "pid");
  if (!file || number_of(file.get()) == our_pid_namespace()) {
    return 0;
  }
  file = outermost(std::move(file), our_pid_namespace());
  const UniqueFd made_in(file ? ::ioctl(file.get(), NS_GET_USERNS) : -1);
  if (!made_in) {
    return kUnknown;
  }
  return number_of(made_in.get()) == our_user_namespace() ? number_of(file.get()) : 0;
}

Payer payer_of(uid_t uid, const UserNamespace& users, u64 container) {
  if (container != 0) {
    return {0, container};  // its root can be any user of it
  }
  if (users.is_ours) {
    return {uid, 0};
  }
  if (!users.owner) {
    return {uid, kUnknown};
  }
  return *users.owner != 0 ? Payer{*users.owner, 0} : Payer{0, users.number};
}

// A pidfd is readable when its process has ended.
bool has_ended(const PeerIdentity& peer) {
  pollfd end = {peer.pidfd.get(), POLLIN, 0};
  return !peer.pidfd || ::poll(&end, 1, 0) != 0;
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
  who.pid_namespace = number_of(path_of(pid, "pid"));
  // NSpid has one number for those who live where /proc is mounted.
  who.shares_our_pids = status.namespace_pids.size() == 1;
  const UserNamespace users = user_namespace_of(pid);
  who.is_at_home = who.shares_our_pids && users.is_ours;
  who.namespace_owner = users.owner;
  const u64 container = container_of(pid);
  who.is_contained = container != 0;
  who.payer = payer_of(who.uid, users, container);
  // What was read is of one process only if that is still there.
  if (TRY(discover::process_key(os, {}, pid)) != who.key) {
    return Error{ESRCH, fmt::format("process {}", pid), ""};
  }
  return who;
}

Result<Who> who_is(const PeerIdentity& peer) {
  const Who who = TRY(who_is(peer.pid));
  // As it had not ended when we had read the files, they were of the process that the pidfd stands
  // for.
  if (has_ended(peer)) {
    return Error{ESRCH, fmt::format("process {}, which made the connection, has ended", peer.pid),
                 ""};
  }
  if (peer.uid != who.uid && peer.uid != who.effective_uid) {
    return Error{EPERM, fmt::format("process {} is of another user now", peer.pid), ""};
  }
  return who;
}

// In a user namespace that they have made themselves, a user's uid is theirs, too; but root of a
// container can become any user, who then makes one.
Owner Who::owner() const {
  return {uid, is_at_home || (!is_contained && uid != 0 && namespace_owner == uid)};
}

Payer payer_of(const PeerIdentity& peer) {
  const Payer payer = payer_of(peer.uid, user_namespace_of(peer.pid), container_of(peer.pid));
  return has_ended(peer) ? Payer{peer.uid, kUnknown} : payer;
}

}  // namespace gp::daemon
