// `gpreempt doctor` and bare `gpreempt`: what works here, what does not, and what to do about it.
#include <fmt/format.h>

#include <cstdio>

#include "base/text_table.h"
#include "cli/agent_finding.h"
#include "cli/commands.h"
#include "cli/diagnosis.h"
#include "cli/json_output.h"
#include "cli/queue_view.h"

namespace gp::cli {
namespace {

using discover::Process;
using nlohmann::ordered_json;

constexpr std::size_t kLabelWidth = 18;

// "  label             text", wrapped at words; continuation lines are indented like the text.
std::string entry(const std::string& label, const std::string& text) {
  std::string out, line = fmt::format("  {:<{}}", label, kLabelWidth);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (line.size() + end - begin > kTableWidth && line.size() > kLabelWidth + 2) {
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line.assign(kLabelWidth + 2, ' ');
    }
    line += text.substr(begin, end - begin) + " ";
    begin = end + 1;
  }
  return out + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string system_text(const Diagnosis& diagnosis) {
  std::string text = "System\n";
  text += entry("kernel", diagnosis.kernel);
  text += entry("amdgpu", diagnosis.driver_version.empty() ? "version N/A (the kernel's own)"
                                                           : diagnosis.driver_version);
  text += entry("KFD interface", diagnosis.kfd_version.value_or("N/A"));
  return text;
}

std::string finding_text(const Finding& finding) {
  std::string text =
      entry(finding.subject, fmt::format("{}: {}", name(finding.health), finding.text));
  if (!finding.fix.empty()) {
    text += entry("", fmt::format("fix: {}", finding.fix));
  }
  return text;
}

std::string mechanism_text(const MechanismFinding& found) {
  const MechanismInfo& info = info_of(found.mechanism);
  const std::string opt_in = info.by_default ? "" : " (only when named)";
  if (!found.probe) {
    return entry(info.name, fmt::format("needs {}{}", info.needs, opt_in));
  }
  std::string text = entry(info.name, fmt::format("{}: {}{}", found.probe->usable ? "usable" : "no",
                                                  found.probe->reason, opt_in));
  if (!found.probe->hint.empty()) {
    text += entry("", fmt::format("fix: {}", found.probe->hint));
  }
  return text;
}

std::string mechanisms_text(const Diagnosis& diagnosis) {
  std::string text =
      diagnosis.pid
          ? fmt::format("Mechanisms on process {}\n", *diagnosis.pid)
          : std::string(
                "Mechanisms, best first (gpreempt doctor --pid P tries them on a process)\n");
  for (const MechanismFinding& found : diagnosis.mechanisms) {
    text += mechanism_text(found);
  }
  return text;
}

std::string full_text(const Diagnosis& diagnosis) {
  std::string text = system_text(diagnosis) + "\nGPUs\n";
  text += node_table(diagnosis.snapshot) + "\nChecks\n";
  for (const Finding& finding : diagnosis.findings) {
    text += finding_text(finding);
  }
  return text + "\n" + mechanisms_text(diagnosis);
}

ordered_json or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json mechanism_json(const MechanismFinding& found) {
  const MechanismInfo& info = info_of(found.mechanism);
  return {{"name", info.name},
          {"usable", found.probe ? ordered_json(found.probe->usable) : ordered_json(nullptr)},
          {"reason", found.probe ? or_null(found.probe->reason) : ordered_json(nullptr)},
          {"fix", found.probe ? or_null(found.probe->hint) : ordered_json(nullptr)},
          {"level", info.level},
          {"inside", info.place == Place::inside},
          {"needs", info.needs},
          {"by_default", info.by_default}};
}

ordered_json full_json(const Diagnosis& diagnosis) {
  ordered_json nodes = ordered_json::array(), checks = ordered_json::array(),
               mechanisms = ordered_json::array();
  for (const discover::Node& node : diagnosis.snapshot.nodes) {
    nodes.push_back(node_json(node));
    nodes.back()["save_area_bytes"] =
        node.save_area_bytes ? ordered_json(*node.save_area_bytes) : ordered_json(nullptr);
  }
  for (const Finding& finding : diagnosis.findings) {
    checks.push_back({{"name", finding.subject},
                      {"state", name(finding.health)},
                      {"text", finding.text},
                      {"fix", or_null(finding.fix)}});
  }
  for (const MechanismFinding& found : diagnosis.mechanisms) {
    mechanisms.push_back(mechanism_json(found));
  }
  return {{"schema_version", kSchemaVersion},
          {"kernel", diagnosis.kernel},
          {"driver_version", or_null(diagnosis.driver_version)},
          {"kfd_version", or_null(diagnosis.kfd_version.value_or(""))},
          {"pid", diagnosis.pid ? ordered_json(*diagnosis.pid) : ordered_json(nullptr)},
          {"nodes", std::move(nodes)},
          {"checks", std::move(checks)},
          {"mechanisms", std::move(mechanisms)}};
}

std::string counts_text(const discover::Snapshot& snapshot) {
  std::size_t queues = 0, online = 0, offline = 0;
  for (const Process& process : snapshot.processes) {
    queues += process.queues.size();
    online += process.work_class == WorkClass::online ? 1 : 0;
    offline += process.work_class == WorkClass::offline ? 1 : 0;
  }
  return fmt::format("{} queue{} of {} process{} ({} online, {} offline)", queues,
                     queues == 1 ? "" : "s", snapshot.processes.size(),
                     snapshot.processes.size() == 1 ? "" : "es", online, offline);
}

}  // namespace

std::string diagnosis_json(const Diagnosis& diagnosis) {
  return full_json(diagnosis).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

int doctor(std::optional<pid_t> pid, bool json) {
  Diagnosis diagnosis = diagnose(system_os(), {}, current_identity(), {});
  if (pid) {
    const Status probed = probe_process(system_os(), {}, *pid, diagnosis);
    if (!probed) {
      return report_error(probed.error());
    }
    if (auto agent = ask_for_agent(*pid)) {
      diagnosis.findings.push_back(std::move(*agent));
    }
  }
  if (json) {
    std::fputs(diagnosis_json(diagnosis).c_str(), stdout);
  } else {
    std::fputs(full_text(diagnosis).c_str(), stdout);
  }
  return diagnosis.exit_code();
}

int status() {
  const Diagnosis diagnosis = diagnose(system_os(), {}, current_identity(), {.debugfs = false});
  std::string text =
      fmt::format("gpreempt {}, KFD {}, {} GPU{}, {}\n", GPREEMPT_PROJECT_VERSION,
                  diagnosis.kfd_version.value_or("N/A"), diagnosis.snapshot.nodes.size(),
                  diagnosis.snapshot.nodes.size() == 1 ? "" : "s", counts_text(diagnosis.snapshot));
  bool all_good = true;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.health != Health::good) {
      text += finding_text(finding);
      all_good = false;
    }
  }
  text += all_good ? "All checks passed.\n" : "";
  text += "More: gpreempt queues, gpreempt doctor, gpreempt help\n";
  std::fputs(text.c_str(), stdout);
  return exit_ok;
}

int version() {
  std::printf("gpreempt %s\n", GPREEMPT_PROJECT_VERSION);
  return exit_ok;
}

}  // namespace gp::cli
