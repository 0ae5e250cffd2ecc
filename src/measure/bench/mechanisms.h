// The mechanisms the daemon can be told to use, and what a program needs for each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/mechanism.h"

namespace gp::bench {

struct MeasuredMechanism {
  Mechanism mechanism;
  const char* name;
  int level;  // XSched's
  std::map<std::string, std::string> environment;
  bool agent = true;  // false: an agent at work would be the debugger itself
};

// All but `early-ioctl`, whose driver is nobody's; the best last.
inline std::vector<MeasuredMechanism> measured_mechanisms() {
  std::vector<MeasuredMechanism> all;
  for (const MechanismInfo& info : kMechanisms) {
    if (info.mechanism == Mechanism::early_ioctl) {
      continue;
    }
    const bool alone = info.mechanism == Mechanism::debugger || info.mechanism == Mechanism::criu;
    MeasuredMechanism each{info.mechanism, info.name, static_cast<int>(info.level), {}, !alone};
    if (info.mechanism == Mechanism::gate) {
      each.environment = {{"GPREEMPT_GATE", "1"}};
    }
    all.insert(all.begin(), each);
  }
  return all;
}

// The daemon's own choice on a driver without our patches, as a line of its configuration.
inline std::string stock_mechanisms() {
  std::string names;
  for (const MechanismInfo& info : kMechanisms) {
    if (info.by_default && info.mechanism != Mechanism::kernel) {
      names += std::string(names.empty() ? "\"" : ", \"") + info.name + "\"";
    }
  }
  return "mechanisms = [" + names + "]\n";
}

}  // namespace gp::bench
