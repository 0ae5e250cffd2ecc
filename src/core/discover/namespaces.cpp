#include "discover/namespaces.h"

#include <fmt/format.h>

#include <cerrno>

namespace gp::discover {
namespace {

// PROC_PID_INIT_INO, include/linux/proc_ns.h: the first namespace's number never changes.
constexpr std::string_view kFirstPidNamespace = "pid:[4026531836]";

Result<std::string> namespace_of(Os& os, const Paths& paths, std::string_view process) {
  return os.read_link(fmt::format("{}/{}/ns/pid", paths.proc, process));
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

}  // namespace gp::discover
