#include "discover/namespaces.h"

#include <fmt/format.h>

#include <cerrno>

#include "discover/process_files.h"
#include "discover/text.h"

namespace gp::discover {
namespace {

// PROC_PID_INIT_INO, include/linux/proc_ns.h: the first namespace's number never changes.
constexpr std::string_view kFirstPidNamespace = "pid:[4026531836]";

Result<std::string> namespace_of(Os& os, const Paths& paths, std::string_view process) {
  return os.read_link(fmt::format("{}/{}/ns/pid", paths.proc, process));
}

Result<std::vector<pid_t>> namespace_pids(Os& os, const Paths& paths, pid_t pid) {
  const std::string text = TRY(os.read_file(fmt::format("{}/{}/status", paths.proc, pid)));
  std::vector<pid_t> pids = parse_status(text).namespace_pids;
  if (pids.empty()) {
    return Error{ENODATA, fmt::format("no NSpid of process {}", pid), ""};
  }
  return pids;
}

}  // namespace

bool is_kernels_sysfs(Os& os, const Paths& paths) {
  const auto directory = os.status(fmt::format("{}/proc", paths.sysfs));
  const auto root = os.status("/sys");
  return directory && root && directory->is_sysfs && directory->device == root->device;
}

bool sysfs_pids_are_ours(Os& os, const Paths& paths) {
  if (!is_kernels_sysfs(os, paths)) {
    return true;
  }
  const auto ours = namespace_of(os, paths, "self");
  return !ours || *ours == kFirstPidNamespace;
}

bool processes_are_hidden(Os& os, const Paths& paths) {
  return !os.read_file(fmt::format("{}/1/stat", paths.proc));
}

Result<pid_t> pid_outside(Os& os, const Paths& paths, pid_t inner, pid_t neighbour) {
  const std::string wanted = TRY(namespace_of(os, paths, std::to_string(neighbour)));
  for (const std::string& name : TRY(os.list_directory(paths.proc))) {
    const auto pid = narrow<pid_t>(decimal(name));
    const auto pids = pid ? namespace_pids(os, paths, *pid) : Error{ESRCH, "", ""};
    if (!pids || pids->back() != inner) {
      continue;
    }
    const auto place = namespace_of(os, paths, name);
    if (place && *place == wanted) {
      return *pid;
    }
  }
  return Error{ESRCH,
               fmt::format("process {} in the pid namespace of process {}", inner, neighbour), ""};
}

}  // namespace gp::discover
