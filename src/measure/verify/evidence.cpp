#include "verify/evidence.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string_view>

#include "os/os.h"
#include "verify/container.h"

namespace gp::verify {
namespace {

constexpr char kModule[] = "/sys/module/amdgpu", kTopology[] = "/sys/class/kfd/kfd/topology",
               kDebugfs[] = "/sys/kernel/debug/kfd";
constexpr unsigned long kNobodyHasLoggedIn = 0xffff'ffff;  // as /proc/self/loginuid says it

// The file's text, or why there is none.
std::string text_of(const std::string& path) {
  const auto text = system_os().read_file(path);
  if (!text) {
    return fmt::format("(cannot be read: {})\n", std::strerror(text.error().code));
  }
  return text->empty() || text->ends_with('\n') ? *text : *text + "\n";
}

std::string file_text(const std::string& path) {
  return fmt::format("--- {}\n{}", path, text_of(path));
}

// The lines of a file that begin with one of these words.
std::string lines_of(const std::string& path, std::initializer_list<std::string_view> words) {
  std::string found;
  const std::string text = text_of(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    for (const std::string_view word : words) {
      if (line.starts_with(word)) {
        found += fmt::format("{}\n", line);
      }
    }
    begin = end + 1;
  }
  return found;
}

std::string container_text() {
  const ContainerSigns signs = container_signs(system_os());
  return fmt::format("container: {}; pid namespace: {}\n",
                     signs.mark.empty() ? "no sign of one" : "yes, " + signs.mark,
                     !signs.own_pids   ? "unknown"
                     : *signs.own_pids ? "one of its own"
                                       : "the machine's");
}

std::string variables_text() {
  std::string text;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each);
    for (const std::string_view prefix : {"HSA_", "ROCR_", "ROCM_", "HIP_", "GPU_", "AMD_",
                                          "GPREEMPT_", "LD_PRELOAD=", "LD_LIBRARY_PATH="}) {
      if (variable.starts_with(prefix)) {
        text += fmt::format("{}\n", variable);
      }
    }
  }
  return text;
}

// A kernel's command line may hold what is nobody's business: only what concerns the GPU.
std::string boot_options_text() {
  std::string text;
  std::istringstream words(text_of("/proc/cmdline"));
  for (std::string word; words >> word;) {
    for (const std::string_view about : {"amdgpu", "amdkfd", "iommu", "pci", "mitigations"}) {
      if (word.find(about) != std::string::npos) {
        text += word + "\n";
        break;
      }
    }
  }
  return text;
}

std::string user_name(uid_t uid) {
  const passwd* user = ::getpwuid(uid);
  return user != nullptr ? user->pw_name : "";
}

// Whoever has logged in is a user too, when sudo, su or doas has made root of them.
std::set<std::string> user_names() {
  std::set<std::string> names = {user_name(::geteuid()), user_name(::getuid())};
  if (const auto login = system_os().read_file("/proc/self/loginuid")) {
    const unsigned long uid = std::strtoul(login->c_str(), nullptr, 10);
    names.insert(uid < kNobodyHasLoggedIn ? user_name(static_cast<uid_t>(uid)) : "");
  }
  for (const char* variable : {"SUDO_USER", "DOAS_USER", "LOGNAME", "USER"}) {
    if (const char* name = std::getenv(variable)) {
      names.insert(name);
    }
  }
  names.erase("root");
  return names;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void replace_word(std::string& text, const std::string& word, const char* by) {
  if (word.size() < 2) {
    return;
  }
  for (std::size_t at = text.find(word); at != std::string::npos;) {
    const std::size_t end = at + word.size();
    const bool whole =
        (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
    if (whole) {
      text.replace(at, word.size(), by);
    }
    at = text.find(word, at + 1);
  }
}

}  // namespace

std::string host_name() {
  utsname names{};
  ::uname(&names);
  const std::string name = names.nodename;
  return name.empty() ? "host" : name.substr(0, name.find('.'));
}

std::string environment_text(const std::string& gpreempt_version, const std::string& runtime) {
  utsname names{};
  ::uname(&names);
  std::string text =
      fmt::format("gpreempt {}\nruntime {}\nkernel {} {} {}\n", gpreempt_version,
                  runtime.empty() ? "N/A" : runtime, names.release, names.version, names.machine);
  text +=
      fmt::format("host {}, user {} ({})\n", names.nodename, user_name(::geteuid()), ::geteuid());
  text += container_text();
  for (const char* path : {"/etc/os-release", "/opt/rocm/.info/version",
                           "/proc/sys/kernel/yama/ptrace_scope", "/proc/self/cgroup"}) {
    text += file_text(path);
  }
  text += "--- /proc/self/status\n" +
          lines_of("/proc/self/status", {"Cap", "Seccomp", "NoNewPrivs", "Groups"});
  text += "--- /proc/self/limits\n" +
          lines_of("/proc/self/limits", {"Max locked", "Max realtime", "Max open"});
  return text + "--- boot options\n" + boot_options_text() + "--- variables\n" + variables_text();
}

std::string parameters_text() {
  std::string text = file_text(fmt::format("{}/version", kModule)) +
                     file_text(fmt::format("{}/srcversion", kModule));
  const std::string directory = fmt::format("{}/parameters", kModule);
  const auto names = system_os().list_directory(directory);
  if (!names) {
    return text + fmt::format("{}: cannot be read\n", directory);
  }
  for (const std::string& name : *names) {
    text += fmt::format("{} = {}", name, text_of(fmt::format("{}/{}", directory, name)));
  }
  return text;
}

std::string topology_text() {
  std::string text = file_text(fmt::format("{}/system_properties", kTopology));
  const auto nodes = system_os().list_directory(fmt::format("{}/nodes", kTopology));
  if (!nodes) {
    return text + "no nodes can be read\n";
  }
  for (const std::string& node : *nodes) {
    for (const char* file : {"name", "gpu_id", "properties"}) {
      text += file_text(fmt::format("{}/nodes/{}/{}", kTopology, node, file));
    }
  }
  return text;
}

std::string debugfs_text() {
  std::string text;
  for (const char* file : {"mqds", "hqds", "rls"}) {
    text += file_text(fmt::format("{}/{}", kDebugfs, file));
  }
  return text;
}

std::string anonymous(std::string text) {
  utsname names{};
  ::uname(&names);
  replace_word(text, names.nodename, "host");
  replace_word(text, host_name(), "host");
  for (const std::string& name : user_names()) {
    replace_word(text, name, "user");
  }
  return text;
}

}  // namespace gp::verify
