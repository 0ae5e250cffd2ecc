// Who is online and who is offline. The strongest source that says something decides:
//
//   1. GPREEMPT_CLASS=online|offline|normal in the environment: `gpreempt run --class` sets it
//   2. AMD_QUEUE_TAG: "online", "offline" or "normal", alone or before a separator ("online-chat");
//      any other tag says nothing. Then AMD_QUEUE_PRIORITY, 0..15, by the thresholds
//   3. the rules of the configuration; the first that matches
//   4. the priorities of the compute queues, if they are known and fall into one class. SDMA queues
//      do not count: ROCr creates all of them with 15
//
// Upper and lower case are the same. What is set but cannot be understood is reported.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "discover/discover.h"

namespace gp::discover {

std::optional<WorkClass> parse_class(std::string_view text);
std::optional<WorkClass> class_of_tag(std::string_view tag);
WorkClass class_of_priority(const ClassConfig& config, u32 priority);

// Sets work_class, class_source and tag. `environ` and `cgroup` are the process's files as they
// are; empty if they may not be read.
void classify(Process& process, const ClassConfig& config, std::optional<std::string_view> environ,
              std::string_view cgroup, std::vector<std::string>& warnings);

// What a rule with `enforce` says, which is stronger than all of them.
std::optional<WorkClass> enforced_class(const Process& process, const ClassConfig& config,
                                        std::string_view cgroup);

}  // namespace gp::discover
