#include "driver/task.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace vgpu::driver {
namespace {

namespace fs = std::filesystem;

std::string pid_namespace(const std::string& task) {
  std::error_code error;
  return fs::read_symlink("/proc/" + task + "/ns/pid", error).string();
}

// What the task calls itself: the last number of NSpid.
pid_t own_pid(const std::string& task) {
  std::ifstream status("/proc/" + task + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("NSpid:")) {
      std::istringstream numbers(line.substr(6));
      pid_t id = 0;
      while (numbers >> id) {
      }
      return id;
    }
  }
  return 0;
}

}  // namespace

std::optional<Task> look_up_task(pid_t id) {
  std::ifstream status(fmt::format("/proc/{}/status", id));
  if (id <= 0 || !status) {
    return std::nullopt;
  }
  Task task;
  for (std::string line; std::getline(status, line);) {
    const auto colon = line.find(":\t");
    if (colon == std::string::npos) {
      continue;
    }
    const std::string key = line.substr(0, colon);
    const std::string value = line.substr(colon + 2);
    if (key == "Name") {
      task.name = value;
    } else if (key == "State") {
      task.has_memory = value[0] != 'Z' && value[0] != 'X';
    } else if (key == "Tgid") {
      task.leader = std::stoi(value);
    } else if (key == "TracerPid") {
      task.tracer = std::stoi(value);
    } else if (key == "Uid") {
      std::istringstream(value) >> task.uid >> task.effective_uid >> task.saved_uid;
    } else if (key == "CapEff") {
      task.effective_capabilities = std::stoull(value, nullptr, 16);
    }
  }
  return task;
}

bool has_memory(pid_t id) {
  char target[1];
  // Who may not look is told so only if there is something to see.
  return ::readlink(fmt::format("/proc/{}/exe", id).c_str(), target, sizeof target) >= 0 ||
         (errno != ENOENT && errno != ESRCH);
}

pid_t translate_pid(pid_t id, pid_t speaker) {
  const std::string wanted = pid_namespace(std::to_string(speaker));
  if (wanted.empty() || wanted == pid_namespace("self")) {
    return id;  // the usual case, also if the caller's namespace cannot be looked at
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t here = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), here);
    if (parsed.ec == std::errc() && own_pid(name) == id && pid_namespace(name) == wanted) {
      return here;
    }
  }
  return 0;
}

pid_t pid_as_seen_by(pid_t id, pid_t observer) {
  const std::string wanted = pid_namespace(std::to_string(observer));
  if (wanted.empty() || wanted == pid_namespace("self")) {
    return id;
  }
  return pid_namespace(std::to_string(id)) == wanted ? own_pid(std::to_string(id)) : 0;
}

bool has_capability(pid_t id, u32 capability) {
  const auto task = look_up_task(id);
  return task && task->effective_capabilities >> capability & 1;
}

}  // namespace vgpu::driver
