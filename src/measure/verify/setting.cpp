#include "verify/setting.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/mechanism.h"

namespace gp::verify {

namespace {
constexpr char kLeaseSetting[] = "lease = \"2s\"\n";

std::string mechanisms_line(const std::vector<std::string>& names) {
  return fmt::format("mechanisms = [\"{}\"]\n", fmt::join(names, "\", \""));
}
}  // namespace

std::string daemon_settings(const Setting& setting, const std::string& extra) {
  std::string text = extra + kLeaseSetting;
  // The first rule that fits counts, and an enforced one beats what a program says of itself.
  for (const char* work_class : {"online", "offline"}) {
    text += fmt::format(
        "[[classes.rule]]\ncommand = \"--mark {}-{}\"\nclass = \"{}\"\nenforce = true\n",
        setting.mark, work_class, work_class);
  }
  return text + "[[classes.rule]]\nclass = \"normal\"\nenforce = true\n";
}

Result<demo::Scheduler> start_daemon(const Setting& setting) {
  return demo::Scheduler::start(setting.programs, setting.scratch, setting.waiter,
                                daemon_settings(setting, exact_mechanisms(setting)));
}

Result<demo::Scheduler> start_daemon_with(const Setting& setting, const std::string& mechanism) {
  return demo::Scheduler::start(setting.programs, setting.scratch, setting.waiter,
                                daemon_settings(setting, mechanisms_line({mechanism})));
}

std::string exact_mechanisms(const Setting& setting) {
  std::vector<std::string> names;
  for (const MechanismInfo& info : kMechanisms) {
    if (info.by_default && std::ranges::count(setting.inexact, info.name) == 0) {
      names.emplace_back(info.name);
    }
  }
  return setting.inexact.empty() ? "" : mechanisms_line(names);
}

std::string settings_for_streams(const std::vector<std::string>& mechanisms) {
  return "watch_all_processes = false\n" + mechanisms_line(mechanisms) + kLeaseSetting;
}

Result<demo::Scheduler> start_daemon_for_streams(const Setting& setting,
                                                 const std::vector<std::string>& mechanisms) {
  return demo::Scheduler::start(setting.programs, setting.scratch, setting.waiter,
                                settings_for_streams(mechanisms));
}

std::vector<std::string> mechanisms_for_streams(const Setting& setting) {
  std::vector<std::string> names;
  for (const MechanismInfo& info : kMechanisms) {
    if (info.level == 3 && info.place == Place::inside && info.scope == Scope::queue &&
        info.by_default && std::ranges::count(setting.inexact, info.name) == 0) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

}  // namespace gp::verify
