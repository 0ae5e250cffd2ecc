#include "verify/setting.h"

#include <fmt/format.h>

namespace gp::verify {

std::string daemon_settings(const Setting& setting, const std::string& extra) {
  std::string text = extra + fmt::format("lease = \"{}s\"\n", 2);
  // The first rule that fits counts, and an enforced one beats what a program says of itself.
  for (const char* work_class : {"online", "offline"}) {
    text += fmt::format(
        "[[classes.rule]]\ncommand = \"--mark {}-{}\"\nclass = \"{}\"\nenforce = true\n",
        setting.mark, work_class, work_class);
  }
  return text + "[[classes.rule]]\nclass = \"normal\"\nenforce = true\n";
}

Result<demo::Scheduler> start_daemon(const Setting& setting, const std::string& extra) {
  return demo::Scheduler::start(setting.programs, setting.scratch, setting.waiter,
                                daemon_settings(setting, extra));
}

Result<demo::Scheduler> start_daemon_with(const Setting& setting, const std::string& mechanism) {
  return start_daemon(setting, fmt::format("mechanisms = [\"{}\"]\n", mechanism));
}

}  // namespace gp::verify
