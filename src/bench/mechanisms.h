// The mechanisms the daemon can be told to use, and what a program needs for each.
#pragma once

#include <map>
#include <string>

namespace gp::bench {

struct Mechanism {
  const char* name;
  int level;  // XSched's
  std::map<std::string, std::string> environment;
  bool agent = true;  // false: an agent at work would be the debugger itself
};

inline const Mechanism kMechanisms[] = {
    {"gate", 1, {{"GPREEMPT_GATE", "1"}}},
    {"update-queue", 3, {}},
    {"self-debug", 3, {}},
    {"debugger", 3, {}, false},
    {"criu", 3, {}, false},
    {"kernel", 3, {}},
};

// The daemon's own choice on a driver without our patches.
inline const std::string kStockMechanisms =
    "mechanisms = [\"self-debug\", \"debugger\", \"update-queue\", \"gate\"]\n";

}  // namespace gp::bench
