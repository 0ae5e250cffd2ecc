#include "verify/evidence.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "os/os.h"

namespace gp::verify {
namespace {

constexpr char kModule[] = "/sys/module/amdgpu", kTopology[] = "/sys/class/kfd/kfd/topology",
               kDebugfs[] = "/sys/kernel/debug/kfd";

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
  constexpr std::string_view kFirstPidNamespace = "pid:[4026531836]";
  const auto space = system_os().read_link("/proc/self/ns/pid");
  const bool marked =
      ::access("/.dockerenv", F_OK) == 0 || ::access("/run/.containerenv", F_OK) == 0;
  return fmt::format("container: {}; pid namespace: {}\n", marked ? "yes" : "no sign of one",
                     !space                         ? "unknown"
                     : *space == kFirstPidNamespace ? "the machine's"
                                                    : "one of its own");
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

std::string user_name() {
  const passwd* user = ::getpwuid(::geteuid());
  return user != nullptr ? user->pw_name : "";
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
  text += fmt::format("host {}, user {} ({})\n", names.nodename, user_name(), ::geteuid());
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
  if (user_name() != "root") {
    replace_word(text, user_name(), "user");
  }
  return text;
}

}  // namespace gp::verify
