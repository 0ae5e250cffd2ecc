#include "discover/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "abi/kfd.h"
#include "discover/process_files.h"
#include "discover/text.h"

namespace gp::discover {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}
bool same_text(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, lower, lower);
}

struct Verdict {
  WorkClass work_class;
  ClassSource source;
};

std::optional<u32> parse_priority(std::string_view text) {
  const auto priority = decimal(text);
  return priority && *priority <= abi::kMaxQueuePriority ? narrow<u32>(priority) : std::nullopt;
}

std::string not_understood(std::string_view variable, std::string_view value, pid_t pid) {
  return fmt::format("{}={} of process {} is not understood and does not classify it", variable,
                     printable_command(value), pid);
}

// What the process was started with.
std::optional<Verdict> by_environment(Process& process, const ClassConfig& config,
                                      std::string_view environ,
                                      std::vector<std::string>& warnings) {
  process.tag = printable_command(find_variable(environ, "AMD_QUEUE_TAG").value_or(""));
  if (const auto value = find_variable(environ, "GPREEMPT_CLASS")) {
    if (const auto work_class = parse_class(*value)) {
      return Verdict{*work_class, ClassSource::run_command};
    }
    warnings.push_back(not_understood("GPREEMPT_CLASS", *value, process.key.pid));
  }
  if (const auto work_class = class_of_tag(process.tag)) {
    return Verdict{*work_class, ClassSource::environment};
  }
  if (const auto value = find_variable(environ, "AMD_QUEUE_PRIORITY")) {
    if (const auto priority = parse_priority(*value)) {
      return Verdict{class_of_priority(config, *priority), ClassSource::environment};
    }
    warnings.push_back(not_understood("AMD_QUEUE_PRIORITY", *value, process.key.pid));
  }
  return std::nullopt;
}

std::optional<Verdict> by_rules(const Process& process, const ClassConfig& config,
                                std::string_view cgroup, bool enforced) {
  for (const ClassRule& rule : config.rules) {
    const bool matches =
        rule.enforce == enforced && (!rule.uid || rule.uid == process.uid) &&
        (rule.cgroup.empty() || cgroup.find(rule.cgroup) != std::string_view::npos) &&
        (rule.command.empty() || process.command.find(rule.command) != std::string::npos);
    if (matches) {
      return Verdict{rule.work_class, enforced ? ClassSource::enforced : ClassSource::config_rule};
    }
  }
  return std::nullopt;
}

// Whichever reading belongs to which queue, together they are the priorities of the process.
std::optional<Verdict> by_queues(const Process& process, const ClassConfig& config) {
  std::vector<u32> priorities;
  std::size_t compute_queues = 0;
  for (const Queue& queue : process.queues) {
    compute_queues += queue.type == QueueType::compute;
    if (queue.type == QueueType::compute && queue.priority) {
      priorities.push_back(*queue.priority);
    }
  }
  for (const Queue& reading : process.unassigned) {
    // Those that all have in common are in `queues` already.
    const bool counted = std::ranges::any_of(process.queues, [&](const Queue& queue) {
      return queue.type == QueueType::compute && queue.gpu_id == reading.gpu_id &&
             queue.ring_bytes == reading.ring_bytes && queue.priority;
    });
    if (reading.type == QueueType::compute && reading.priority && !counted) {
      priorities.push_back(*reading.priority);
    }
  }
  if (priorities.empty() || priorities.size() != compute_queues) {
    return std::nullopt;
  }
  const WorkClass first = class_of_priority(config, priorities.front());
  const bool agree = std::ranges::all_of(
      priorities, [&](u32 priority) { return class_of_priority(config, priority) == first; });
  return Verdict{agree ? first : WorkClass::normal, ClassSource::queue_priority};
}

Result<u32> threshold(const char* variable, u32 fallback) {
  const char* text = std::getenv(variable);
  if (!text || *text == '\0') {
    return fallback;
  }
  if (const auto priority = parse_priority(text)) {
    return *priority;
  }
  return Error{EINVAL, fmt::format("{}={}", variable, text), "a priority is a number of 0..15"};
}

}  // namespace

std::optional<WorkClass> parse_class(std::string_view text) {
  for (const WorkClass work_class : kWorkClasses) {
    if (same_text(text, name(work_class))) {
      return work_class;
    }
  }
  return std::nullopt;
}

std::optional<WorkClass> class_of_tag(std::string_view tag) {
  const auto end = std::ranges::find_if_not(tag, is_alphanumeric);
  return parse_class(tag.substr(0, static_cast<std::size_t>(end - tag.begin())));
}

WorkClass class_of_priority(const ClassConfig& config, u32 priority) {
  if (priority >= config.online_from) {
    return WorkClass::online;
  }
  return priority <= config.offline_to ? WorkClass::offline : WorkClass::normal;
}

void classify(Process& process, const ClassConfig& config, std::optional<std::string_view> environ,
              std::string_view cgroup, std::vector<std::string>& warnings) {
  std::optional<Verdict> verdict;
  if (environ) {
    verdict = by_environment(process, config, *environ, warnings);
  }
  if (const auto enforced = by_rules(process, config, cgroup, true)) {
    verdict = enforced;
  }
  if (!verdict) {
    verdict = by_rules(process, config, cgroup, false);
  }
  if (!verdict) {
    verdict = by_queues(process, config);
  }
  if (verdict) {
    process.work_class = verdict->work_class;
    process.class_source = verdict->source;
  }
}

std::optional<WorkClass> enforced_class(const Process& process, const ClassConfig& config,
                                        std::string_view cgroup) {
  const auto verdict = by_rules(process, config, cgroup, true);
  return verdict ? std::optional(verdict->work_class) : std::nullopt;
}

Result<ClassConfig> class_config_from_environment() {
  ClassConfig config;
  config.online_from = TRY(threshold("GPREEMPT_ONLINE_PRIORITY", config.online_from));
  config.offline_to = TRY(threshold("GPREEMPT_OFFLINE_PRIORITY", config.offline_to));
  if (config.offline_to >= config.online_from) {
    return Error{EINVAL,
                 fmt::format("priorities 0..{} would be offline and {}..15 online",
                             config.offline_to, config.online_from),
                 "set GPREEMPT_OFFLINE_PRIORITY below GPREEMPT_ONLINE_PRIORITY"};
  }
  return config;
}

}  // namespace gp::discover
