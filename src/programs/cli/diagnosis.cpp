#include "cli/diagnosis.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "abi/kfd.h"
#include "base/units.h"
#include "kfd/calls.h"
#include "verify/container.h"

namespace gp::cli {
namespace {

using discover::Paths;
using discover::Snapshot;

constexpr char kDevice[] = "/dev/kfd";
constexpr char kModule[] = "/sys/module/amdgpu";

std::string trimmed(const Result<std::string>& text) {
  if (!text) {
    return "";
  }
  const std::size_t end = text->find_last_not_of(" \n");
  return end == std::string::npos ? "" : text->substr(0, end + 1);
}

std::string group_name(gid_t gid) {
  const group* found = ::getgrgid(gid);
  return found != nullptr ? found->gr_name : "";
}

// "root, group render (105), mode 0660"
std::string owner_text(const Os::FileStatus& status) {
  const std::string group = group_name(status.gid);
  return fmt::format("owner {}, group {}{}({}), mode {:04o}", status.uid, group,
                     group.empty() ? "" : " ", status.gid, status.mode & 07777);
}

// In a container the group of that number often has no name: hence the number.
std::string permission_fix(const Os::FileStatus& status, const Identity& who,
                           const std::string& path) {
  if ((status.mode & S_IRGRP) == 0 || (status.mode & S_IWGRP) == 0) {
    return fmt::format("its group may not use it either: sudo chmod 0660 {}, or a udev rule", path);
  }
  const std::string group = group_name(status.gid);
  const std::string add =
      group.empty() ? fmt::format("add user {} to the group with gid {}", who.user, status.gid)
                    : fmt::format("sudo usermod -aG {} {}, then log in again", group, who.user);
  return fmt::format("{}; in a container: --group-add {}", add, status.gid);
}

// Opens a device file for reading and writing, as the runtime does.
Finding check_device_file(Os& os, const char* subject, const std::string& path,
                          const Identity& who) {
  const auto status = os.status(path);
  if (!status) {
    return {subject, Health::bad, fmt::format("{} does not exist", path),
            fmt::format("in a container: --device {}; else: is amdgpu loaded?",
                        path.starts_with("/dev/dri") ? "/dev/dri" : path),
            exit_no_device};
  }
  const auto file = os.open(path, O_RDWR | O_CLOEXEC);
  if (file) {
    return {subject, Health::good, fmt::format("{} can be used ({})", path, owner_text(*status)),
            "", exit_ok};
  }
  const bool permission = file.error().code == EACCES || file.error().code == EPERM;
  return {subject, Health::bad,
          fmt::format("{} cannot be opened: {} ({})", path, std::strerror(file.error().code),
                      owner_text(*status)),
          permission ? permission_fix(*status, who, path) : file.error().hint,
          permission ? exit_permission : exit_no_device};
}

// The device cgroup of a container, or what was mounted, hides most GPUs: enough is one of them, or
// the one that is meant.
Finding check_render_nodes(Os& os, const Snapshot& snapshot, const Identity& who,
                           std::optional<unsigned> gpu) {
  std::vector<std::size_t> usable;
  std::optional<Finding> hidden, meant;
  for (std::size_t number = 0; number < snapshot.nodes.size(); ++number) {
    const auto minor = snapshot.nodes[number].drm_render_minor;
    Finding finding = check_device_file(os, "render nodes",
                                        fmt::format("/dev/dri/renderD{}", minor.value_or(0)), who);
    if (!minor || finding.health != Health::bad) {
      usable.push_back(number);
    } else if (number == gpu) {
      meant = std::move(finding);
    } else if (!hidden) {
      hidden = std::move(finding);
    }
  }
  if (meant || (hidden && usable.empty())) {
    Finding bad = meant ? *meant : *hidden;
    if (!usable.empty()) {
      bad.fix += fmt::format("; or another GPU: {}", fmt::join(usable, ", "));
    }
    return bad;
  }
  std::string text = fmt::format("{} of {} can be used", usable.size(), snapshot.nodes.size());
  if (!hidden) {
    return {"render nodes", Health::good, std::move(text), "", exit_ok};
  }
  return {"render nodes", Health::limited,
          fmt::format("{}: GPU {}; of the others: {}", text, fmt::join(usable, ", "), hidden->text),
          hidden->fix, exit_ok};
}

// Of the compute microcode, as the driver says it.
std::string firmware_version(Os& os, const Paths& paths, const discover::Node& node) {
  const auto text =
      os.read_file(fmt::format("{}/topology/nodes/{}/properties", paths.sysfs, node.node_id));
  std::istringstream lines(text ? *text : "");
  for (std::string name, value; lines >> name >> value;) {
    if (name == "fw_version") {
      return value;
    }
  }
  return "N/A";
}

// amdkfd sets the bit for firmware that it trusts with debugging (kfd_topology.c,
// kfd_topology_set_capabilities()), from KFD 1.13 on.
Finding check_debug_firmware(Os& os, const Paths& paths, const Snapshot& snapshot,
                             const std::optional<kfd::Version>& version) {
  constexpr char kSubject[] = "debug firmware";
  const bool known = version && (version->major > 1 || version->minor >= kfd::kDebuggerMinor);
  std::string text;
  bool all_can = true, all_known = known;
  for (std::size_t number = 0; number < snapshot.nodes.size(); ++number) {
    const discover::Node& node = snapshot.nodes[number];
    const bool can = (node.capability.value_or(0) & abi::cap_debug_firmware_supported) != 0;
    all_known &= node.capability.has_value();
    all_can &= can;
    text += fmt::format("{}GPU {}: version {}, {}", text.empty() ? "" : "; ", number,
                        firmware_version(os, paths, node),
                        !known || !node.capability ? "not known"
                        : can                      ? "yes"
                                                   : "no");
  }
  if (!all_known) {
    return {kSubject, Health::unknown, std::move(text), "", exit_ok};
  }
  return {kSubject, all_can ? Health::good : Health::limited, std::move(text),
          all_can ? ""
                  : "newer firmware (linux-firmware, amdgpu-dkms-firmware): ROCr leaves debugging "
                    "off for all GPUs if one has too old a firmware, and with it self-debug and "
                    "debugger",
          exit_ok};
}

Finding check_container(Os& os) {
  const verify::ContainerSigns signs = verify::container_signs(os);
  if (!signs.any()) {
    return {"container", Health::good, "no sign of one", "", exit_ok};
  }
  std::string text = "in one";
  if (!signs.mark.empty()) {
    text += fmt::format(" ({})", signs.mark);
  }
  if (signs.own_pids.value_or(false)) {
    text += ", with pids of its own: the driver's list has the host's";
  }
  return {"container", Health::good, std::move(text), "", exit_ok};
}

std::optional<kfd::Version> kfd_version(Os& os) {
  const auto file = os.open(kDevice, O_RDWR | O_CLOEXEC);
  kfd::Version version;
  if (!file || kfd::get_version(kfd::Channel{file->get()}, version) != 0) {
    return std::nullopt;
  }
  return version;
}

Finding check_kfd_version(const std::optional<kfd::Version>& version) {
  if (!version) {
    return {"debugger API", Health::unknown, "not known without the device", "", exit_ok};
  }
  if (version->major == 1 && version->minor < kfd::kDebuggerMinor) {
    return {"debugger API", Health::limited,
            fmt::format("KFD {}.{} has none: no process's queues can be stopped with debugger or "
                        "self-debug",
                        version->major, version->minor),
            "Linux 6.5 or AMD's driver has KFD 1.13 or later", exit_ok};
  }
  return {"debugger API", Health::good,
          fmt::format("KFD {}.{} has it", version->major, version->minor), "", exit_ok};
}

Finding check_preemption_calls() {
  const Status supported = mechanism::check_kernel_support();
  if (supported) {
    return {"preemption calls", Health::good,
            "the driver has them: many processes are stopped with one call", "", exit_ok};
  }
  const Error& error = supported.error();
  const bool stock = error.code == EOPNOTSUPP;
  return {"preemption calls", stock ? Health::limited : Health::unknown, error.what,
          stock ? error.hint : "", exit_ok};
}

std::string save_areas(const Snapshot& snapshot) {
  std::string text;
  const auto& nodes = snapshot.nodes;
  if (nodes.size() > 1 && std::ranges::all_of(nodes, [&](const discover::Node& node) {
        return node.save_area_bytes && node.save_area_bytes == nodes.front().save_area_bytes;
      })) {
    return fmt::format("{} on each of {} GPUs", format_size(*nodes.front().save_area_bytes),
                       nodes.size());
  }
  for (const discover::Node& node : snapshot.nodes) {
    const std::string area =
        node.save_area_bytes ? format_size(*node.save_area_bytes) : std::string("N/A");
    text += fmt::format("{}{} on GPU {}", text.empty() ? "" : ", ", area, node.gpu_id);
  }
  return text.empty() ? "N/A" : text;
}

Finding check_cwsr(Os& os, const Snapshot& snapshot) {
  const std::string value =
      trimmed(os.read_file(fmt::format("{}/parameters/cwsr_enable", kModule)));
  if (value.empty()) {
    return {"wave save (CWSR)", Health::unknown,
            fmt::format("{}/parameters/cwsr_enable cannot be read", kModule), "", exit_ok};
  }
  if (value == "0") {
    return {"wave save (CWSR)", Health::limited, "off: a stop waits until running kernels end",
            "boot with amdgpu.cwsr_enable=1", exit_ok};
  }
  return {
      "wave save (CWSR)", Health::good,
      fmt::format("on: kernels are stopped mid-way; memory per queue: {}", save_areas(snapshot)),
      "", exit_ok};
}

Finding check_hardware_scheduler(Os& os) {
  const std::string value =
      trimmed(os.read_file(fmt::format("{}/parameters/sched_policy", kModule)));
  if (value == "2") {
    return {"scheduler", Health::limited,
            "amdgpu.sched_policy=2: without the hardware scheduler there is no debugger API",
            "boot without amdgpu.sched_policy", exit_ok};
  }
  return {"scheduler", value.empty() ? Health::unknown : Health::good,
          value.empty() ? "amdgpu.sched_policy cannot be read" : "the hardware's", "", exit_ok};
}

Finding check_debugfs(Os& os, const Paths& paths) {
  const std::string path = paths.debugfs + "/mqds";
  const auto file = os.open(path, O_RDONLY | O_CLOEXEC);
  if (file) {
    return {"debugfs", Health::good, fmt::format("{} can be read", path), "", exit_ok};
  }
  const bool permission = file.error().code == EACCES || file.error().code == EPERM;
  return {"debugfs", Health::limited,
          fmt::format("{}: {}: priority and state of queues are not known", path,
                      std::strerror(file.error().code)),
          permission ? "it is for root: sudo gpreempt queues"
                     : "mount -t debugfs none /sys/kernel/debug; in a container: share it",
          exit_ok};
}

Finding check_ptrace(Os& os, const Paths& paths, const Identity& who) {
  const std::string scope = trimmed(os.read_file(paths.proc + "/sys/kernel/yama/ptrace_scope"));
  if (scope.empty() || scope == "0" || (who.uid == 0 && scope != "3")) {
    return {"ptrace", Health::good, who.uid == 0 ? "allowed" : "allowed on processes of this user",
            "", exit_ok};
  }
  return {"ptrace", Health::limited,
          fmt::format("kernel.yama.ptrace_scope is {}: debugger and criu reach {}", scope,
                      scope == "1" ? "only children of theirs" : "nobody"),
          scope == "3" ? "it cannot be lowered until the next boot"
                       : "sudo sysctl kernel.yama.ptrace_scope=0, or run as root",
          exit_ok};
}

}  // namespace

const char* name(Health health) {
  switch (health) {
    case Health::good: return "ok";
    case Health::limited: return "limited";
    case Health::bad: return "bad";
    case Health::unknown: break;
  }
  return "unknown";
}

Identity current_identity() {
  const passwd* user = ::getpwuid(::geteuid());
  return {::geteuid(), user != nullptr ? user->pw_name : fmt::format("{}", ::geteuid())};
}

ExitCode Diagnosis::exit_code() const {
  for (const Finding& finding : findings) {
    if (finding.health == Health::bad) {
      return finding.exit_code;
    }
  }
  const bool any_usable =
      std::any_of(mechanisms.begin(), mechanisms.end(),
                  [](const MechanismFinding& found) { return found.probe && found.probe->usable; });
  return pid && !any_usable ? exit_unsupported : exit_ok;
}

Diagnosis diagnose(Os& os, const Paths& paths, const Identity& who,
                   const discover::Sources& sources, std::optional<unsigned> gpu) {
  Diagnosis diagnosis;
  utsname kernel{};
  ::uname(&kernel);
  diagnosis.kernel = kernel.release;
  diagnosis.driver_version = trimmed(os.read_file(fmt::format("{}/version", kModule)));
  for (const MechanismInfo& info : kMechanisms) {
    diagnosis.mechanisms.push_back({info.mechanism, std::nullopt});
  }
  Result<discover::ClassConfig> classes = discover::class_config_from_environment();
  if (!classes) {
    diagnosis.findings.push_back(
        {"environment", Health::bad, classes.error().what, classes.error().hint, exit_usage});
  }
  Result<Snapshot> snapshot =
      discover::take_snapshot(os, paths, classes ? *classes : discover::ClassConfig{}, sources);
  if (!snapshot) {
    diagnosis.findings.push_back(
        {"driver", Health::bad,
         fmt::format("no KFD in {}: {}", paths.sysfs, std::strerror(snapshot.error().code)),
         "load amdgpu (sudo modprobe amdgpu), or try the virtual GPU: "
         "vgpu run -- gpreempt doctor",
         exit_no_device});
    return diagnosis;
  }
  diagnosis.snapshot = std::move(*snapshot);
  const auto version = kfd_version(os);
  if (version) {
    diagnosis.kfd_version = fmt::format("{}.{}", version->major, version->minor);
  }
  if (diagnosis.snapshot.nodes.empty()) {
    diagnosis.findings.push_back({"GPUs", Health::bad, "the driver has none",
                                  "see the kernel log: dmesg | grep -i amdgpu", exit_no_device});
  }
  diagnosis.findings.push_back(check_device_file(os, "device", kDevice, who));
  diagnosis.findings.push_back(check_render_nodes(os, diagnosis.snapshot, who, gpu));
  diagnosis.findings.push_back(check_kfd_version(version));
  diagnosis.findings.push_back(check_debug_firmware(os, paths, diagnosis.snapshot, version));
  diagnosis.findings.push_back(check_preemption_calls());
  diagnosis.findings.push_back(check_hardware_scheduler(os));
  diagnosis.findings.push_back(check_cwsr(os, diagnosis.snapshot));
  diagnosis.findings.push_back(check_debugfs(os, paths));
  diagnosis.findings.push_back(check_ptrace(os, paths, who));
  diagnosis.findings.push_back(check_container(os));
  return diagnosis;
}

Status probe_process(Os& os, const Paths& paths, pid_t pid, Diagnosis& diagnosis) {
  const auto target = TRY(discover::process_key(os, paths, pid));
  diagnosis.pid = pid;
  for (MechanismFinding& found : diagnosis.mechanisms) {
    found.probe = mechanism::probe(found.mechanism, target);
  }
  return ok();
}

}  // namespace gp::cli
