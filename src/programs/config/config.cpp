#include "config/config.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <functional>
#include <map>

#include "base/files.h"
#include "base/units.h"

#include <toml++/toml.h>

namespace gp::config {
namespace {

using Node = toml::node;
using Setter = std::function<Status(const Node&)>;
using Keys = std::map<std::string_view, Setter>;

Error problem(const Node& node, std::string_view text) {
  const toml::source_region& where = node.source();
  return Error{EINVAL,
               fmt::format("{}:{}:{}: {}", where.path ? *where.path : "", where.begin.line,
                           where.begin.column, text),
               ""};
}

// Every key of the table by its setter; one that has none is an error.
Status read_table(const Node& node, const Keys& keys) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    return problem(node, "a table is expected here");
  }
  for (const auto& [key, value] : *table) {
    const auto found = keys.find(key.str());
    if (found == keys.end()) {
      std::string known;
      for (const auto& [name, setter] : keys) {
        known += known.empty() ? "" : ", ";
        known += name;
      }
      return problem(value, fmt::format("unknown key '{}'; known here: {}", key.str(), known));
    }
    TRY(found->second(value));
  }
  return ok();
}

Status read_tables(const Node& node, const std::function<Status(const Node&)>& read) {
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    return problem(node, "an array of tables is expected here: [[...]]");
  }
  for (const Node& entry : *array) {
    TRY(read(entry));
  }
  return ok();
}

Result<std::string> text_of(const Node& node) {
  const auto* text = node.as_string();
  if (text == nullptr) {
    return problem(node, "a text in quotation marks is expected");
  }
  return text->get();
}

Setter text(std::string& field) {
  return [&field](const Node& node) -> Status {
    field = TRY(text_of(node));
    return ok();
  };
}

Setter flag(bool& field) {
  return [&field](const Node& node) -> Status {
    const auto* value = node.as_boolean();
    if (value == nullptr) {
      return problem(node, "true or false is expected");
    }
    field = value->get();
    return ok();
  };
}

Setter duration(u64& field_ns, double lowest, double highest) {
  return [&field_ns, lowest, highest](const Node& node) -> Status {
    const std::string text = TRY(text_of(node));
    const auto value = parse_duration_ns(text);
    if (!value) {
      return problem(node, fmt::format("'{}' is no duration; write \"20ms\" or \"1.5s\"", text));
    }
    const auto number = static_cast<double>(*value);
    if (number < lowest || number > highest) {
      return problem(node, fmt::format("'{}' is out of range: {:g} ms to {:g} ms", text,
                                       lowest / 1e6, highest / 1e6));
    }
    field_ns = *value;
    return ok();
  };
}

template <class T>
Setter number(T& field, double lowest, double highest) {
  return [&field, lowest, highest](const Node& node) -> Status {
    const auto* whole = node.as_integer();
    const auto* real = node.as_floating_point();
    if (whole == nullptr && (real == nullptr || !std::is_floating_point_v<T>)) {
      return problem(node, std::is_floating_point_v<T> ? "a number is expected"
                                                       : "a whole number is expected");
    }
    const double value = whole ? static_cast<double>(whole->get()) : real->get();
    if (!(value >= lowest && value <= highest)) {
      return problem(node,
                     fmt::format("{:g} is out of range: {:g} to {:g}", value, lowest, highest));
    }
    field = static_cast<T>(value);
    return ok();
  };
}

Status read_policy(const Node& node, sched::Settings& settings) {
  const std::string name = TRY(text_of(node));
  settings.policy = policy::find(name);
  if (settings.policy == nullptr) {
    std::string known;
    for (const policy::Policy& each : policy::policies()) {
      known += known.empty() ? "" : ", ";
      known += each.name;
    }
    return problem(node, fmt::format("there is no policy '{}'; there are: {}", name, known));
  }
  return ok();
}

Status read_parameters(const Node& node, policy::Parameters& parameters) {
  Keys keys;
  for (const policy::ParameterInfo& info : policy::parameter_table()) {
    if (info.duration_ns) {
      keys[info.name] = duration(parameters.*info.duration_ns, info.lowest, info.highest);
    } else if (info.fraction) {
      keys[info.name] = number(parameters.*info.fraction, info.lowest, info.highest);
    } else {
      keys[info.name] = flag(parameters.*info.flag);
    }
  }
  return read_table(node, keys);
}

Status read_mechanisms(const Node& node, sched::Settings& settings) {
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    return problem(node, "an array of names is expected");
  }
  settings.mechanisms = {};
  for (const Node& entry : *array) {
    const std::string name = TRY(text_of(entry));
    const MechanismInfo* found = find_mechanism(name);
    if (found == nullptr) {
      return problem(entry, fmt::format("there is no mechanism '{}'", name));
    }
    settings.mechanisms.add(found->mechanism);
  }
  return ok();
}

Status read_rule(const Node& node, discover::ClassConfig& classes) {
  discover::ClassRule rule;
  std::string work_class;
  u32 uid = 0;
  TRY(read_table(node, {{"class", text(work_class)},
                        {"command", text(rule.command)},
                        {"cgroup", text(rule.cgroup)},
                        {"uid", number(uid, 0, 4294967294.0)},
                        {"enforce", flag(rule.enforce)}}));
  if (node.as_table()->contains("uid")) {
    rule.uid = uid;
  }
  if (const auto known = find_class(work_class)) {
    rule.work_class = *known;
    classes.rules.push_back(rule);
    return ok();
  }
  return problem(node, "class must be \"online\", \"normal\" or \"offline\"");
}

Status read_classes(const Node& node, discover::ClassConfig& classes) {
  TRY(read_table(node, {{"online_from", number(classes.online_from, 0, 15)},
                        {"offline_to", number(classes.offline_to, 0, 15)},
                        {"rule", [&](const Node& rules) {
                           return read_tables(
                               rules, [&](const Node& rule) { return read_rule(rule, classes); });
                         }}}));
  if (classes.offline_to >= classes.online_from) {
    return problem(node, "offline_to must be below online_from");
  }
  return ok();
}

Status read_group(const Node& node, std::optional<gid_t>& gid) {
  const std::string name = TRY(text_of(node));
  const struct group* entry = ::getgrnam(name.c_str());
  if (entry == nullptr) {
    return problem(node, fmt::format("there is no group '{}'", name));
  }
  gid = entry->gr_gid;
  return ok();
}

Status read_who(const toml::table& table, Grant& grant) {
  if (const Node* user = table.get("user")) {
    const std::string name = TRY(text_of(*user));
    const passwd* entry = ::getpwnam(name.c_str());
    if (entry == nullptr) {
      return problem(*user, fmt::format("there is no user '{}'", name));
    }
    grant.uid = entry->pw_uid;
  }
  if (const Node* group = table.get("group")) {
    TRY(read_group(*group, grant.gid));
  }
  return ok();
}

enum class Whoever { is_meant, is_not };  // by an entry that names nobody

// The keys that say who is meant, beside others.
Status read_with_who(const Node& node, Grant& who, Whoever without, Keys keys) {
  u32 uid = 0, gid = 0;
  const Setter later = [](const Node&) { return ok(); };
  keys.insert({{"user", later},
               {"group", later},
               {"uid", number(uid, 0, 4294967294.0)},
               {"gid", number(gid, 0, 4294967294.0)}});
  TRY(read_table(node, keys));
  const toml::table& table = *node.as_table();
  if (table.contains("uid")) {
    who.uid = uid;
  }
  if (table.contains("gid")) {
    who.gid = gid;
  }
  TRY(read_who(table, who));
  if (!who.uid && !who.gid && without == Whoever::is_not) {
    return problem(node, "who? It needs user, uid, group or gid");
  }
  return ok();
}

Status read_grant(const Node& node, std::vector<Grant>& grants) {
  Grant grant;
  TRY(read_with_who(node, grant, Whoever::is_not,
                    {{"preempt_others", flag(grant.preempt_others)},
                     {"govern_others", flag(grant.govern_others)}}));
  grants.push_back(grant);
  return ok();
}

Status read_allowed(const Node& node, std::vector<WorkClass>& classes) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) {
    return problem(node, "an array of classes is expected");
  }
  for (const Node& entry : *array) {
    const auto known = find_class(TRY(text_of(entry)));
    if (!known) {
      return problem(entry, "a class is \"online\", \"normal\" or \"offline\"");
    }
    classes.push_back(*known);
  }
  return ok();
}

Status read_access(const Node& node, std::vector<Access>& access) {
  Access entry;
  TRY(read_with_who(
      node, entry.who, Whoever::is_meant,
      {{"classes", [&](const Node& classes) { return read_allowed(classes, entry.classes); }}}));
  if (entry.classes.empty()) {
    return problem(node, "classes says what they may be");
  }
  access.push_back(entry);
  return ok();
}

Status read_mode(const Node& node, mode_t& mode) {
  const std::string digits = TRY(text_of(node));
  const bool octal = !digits.empty() && digits.size() <= 4 &&
                     digits.find_first_not_of("01234567") == std::string::npos;
  if (!octal) {
    return problem(node, "an octal mode is expected, such as \"0660\"");
  }
  mode = static_cast<mode_t>(std::stoul(digits, nullptr, 8)) & 0777;
  return ok();
}

Status read_reserve(const Node& node, Reservation& reservation) {
  u32 slots = 0;
  TRY(read_table(node, {{"slots", number(slots, 0, 1024)},
                        {"online_percent", number(reservation.online_percent, 0, 100)},
                        {"offline_percent", number(reservation.offline_percent, 0, 100)}}));
  const toml::table& table = *node.as_table();
  const bool shares = table.contains("online_percent") || table.contains("offline_percent");
  if (table.contains("online_percent") && !table.contains("offline_percent")) {
    reservation.offline_percent = 100 - reservation.online_percent;
  }
  if (table.contains("slots") && shares) {
    return problem(node, "either slots or percentages, not both");
  }
  if (reservation.online_percent + reservation.offline_percent > 100 &&
      table.contains("online_percent")) {
    return problem(node, "online_percent and offline_percent are more than 100 together");
  }
  if (table.contains("slots")) {
    reservation.slots = slots;
  }
  return ok();
}

Status read_all(const Node& root, Config& config) {
  sched::Settings& settings = config.settings;
  return read_table(
      root,
      {{"policy", [&](const Node& node) { return read_policy(node, settings); }},
       {"parameters", [&](const Node& node) { return read_parameters(node, settings.parameters); }},
       {"mechanisms", [&](const Node& node) { return read_mechanisms(node, settings); }},
       {"classes", [&](const Node& node) { return read_classes(node, config.classes); }},
       {"grant",
        [&](const Node& node) {
          return read_tables(node,
                             [&](const Node& grant) { return read_grant(grant, config.grants); });
        }},
       {"access",
        [&](const Node& node) {
          return read_tables(node,
                             [&](const Node& entry) { return read_access(entry, config.access); });
        }},
       {"lease", duration(settings.lease_ns, 100e6, 60e9)},
       {"answer", duration(settings.answer_ns, 10e6, 60e9)},
       {"retry", duration(settings.retry_ns, 100e6, 3600e9)},
       {"stops_per_second", number(settings.stops_per_second, 0.1, 10'000)},
       {"stops_at_once", number(settings.stops_at_once, 1, 10'000)},
       {"hqd_reserve", number(settings.hqd_reserve, 0, 1024)},
       {"reserve", [&](const Node& node) { return read_reserve(node, config.reservation); }},
       {"make_room", flag(settings.make_room)},
       {"make_room_idle", duration(settings.make_room_idle_ns, 10e6, 3600e9)},
       {"read_rings", flag(settings.read_rings)},
       {"read_rings_every", duration(config.read_rings_every_ns, 100e3, 20e6)},
       {"socket_mode",
        [&](const Node& node) { return read_mode(node, config.socket_access.mode); }},
       {"socket_group",
        [&](const Node& node) { return read_group(node, config.socket_access.group); }},
       {"real_time", flag(config.real_time)},
       {"watch_all_processes", flag(config.watch_all_processes)},
       {"connections", number(config.limits.connections, 1, 1'000'000)},
       {"connections_per_user", number(config.limits.connections_per_user, 1, 1'000'000)},
       {"messages_per_second", number(config.limits.messages_per_second, 10, 1'000'000)}});
}

}  // namespace

Result<Config> parse(std::string_view text, const std::string& name) {
  Config config;
  try {
    const toml::table root = toml::parse(text, name);
    TRY(read_all(root, config));
  } catch (const toml::parse_error& error) {
    const auto& where = error.source().begin;
    return Error{EINVAL,
                 fmt::format("{}:{}:{}: {}", name, where.line, where.column, error.description()),
                 ""};
  }
  return config;
}

Result<Config> load(const std::string& path) {
  if (path.empty()) {
    return Config{};
  }
  return parse(TRY(read_file(path)), path);
}

}  // namespace gp::config
