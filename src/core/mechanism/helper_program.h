// Programs of ours that a controller starts beside itself: each leaves it for a session of its own
// at once (pause_guard/own_session.h), and talks to it through the descriptors it is given.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/result.h"

namespace gp::mechanism {

constexpr int kFirstHelperFd = 3;  // where a helper finds its descriptors, in their order

// Where it is installed or built, or, for the pause guard, where GPREEMPT_GUARDIAN says. ENOENT: it
// is nowhere.
Result<std::string> find_helper(const std::string& name);
// 0, or an errno. Returns when the helper has left us: nothing is to be waited for.
int start_helper(const std::string& program, std::vector<std::string> arguments,
                 std::initializer_list<int> descriptors);

}  // namespace gp::mechanism
