#include "cli/places.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/parts.h"
#include "base/units.h"
#include "protocol/runtime_directory.h"

namespace vgpu::cli {
namespace {

namespace fs = std::filesystem;
using gp::Error;
using gp::Result;

constexpr std::size_t kLongestName = 64;
const std::string kRunPrefix = "run-";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool is_device_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

}  // namespace

Result<std::string> devices_directory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string path = runtime != nullptr && runtime[0] == '/'
                               ? std::string(runtime) + "/gpreempt-vgpu"
                               : fmt::format("/tmp/gpreempt-vgpu-{}", ::geteuid());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{errno, "create " + path, "set XDG_RUNTIME_DIR to a directory of yours"};
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return Error{errno, path, ""};
  }
  // In /tmp anybody could have put it there.
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || status.st_mode & 077) {
    return Error{EPERM, path + " is not a private directory of this user",
                 "remove it, or set XDG_RUNTIME_DIR"};
  }
  return path;
}

Result<std::string> directory_of(const std::string& name) {
  if (!is_device_name(name)) {
    return Error{EINVAL, fmt::format("device name '{}'", name),
                 "letters, digits, '.', '_' and '-', not starting with '.' or '-'"};
  }
  return TRY(devices_directory()) + "/" + name;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  const Result<std::string> directory = devices_directory();
  if (directory) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(*directory, code)) {
      if (entry.is_directory(code) && is_device_name(entry.path().filename())) {
        names.push_back(entry.path().filename());
      }
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string name_for_run() { return kRunPrefix + std::to_string(::getpid()); }

void remove_dead_runs() {
  for (const std::string& name : known_names()) {
    const Result<std::string> directory = directory_of(name);
    const Result<gp::u64> pid = name.starts_with(kRunPrefix)
                                    ? gp::parse_number(name.substr(kRunPrefix.size()), 1, INT_MAX)
                                    : Error{EINVAL, name, ""};
    if (directory && pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH) {
      // Whoever can claim a directory removes it when done. A server that lives cannot be robbed.
      (void)protocol::RuntimeDirectory::claim(*directory);
    }
  }
}

Result<std::string> find_server() { return gp::find_part(gp::PartKind::program, "vgpud"); }

Result<std::string> find_preload() { return gp::find_part(gp::PartKind::library, "libvgpu.so"); }

}  // namespace vgpu::cli
