#include "discover/process_files.h"

#include <fmt/format.h>

#include <cerrno>

#include "discover/text.h"

namespace gp::discover {
namespace {

constexpr u32 kFieldsAfterCommand = 19;  // from state, field 3, to start time, field 22

std::string path_of(const std::string& proc, pid_t pid, std::string_view file) {
  return fmt::format("{}/{}/{}", proc, pid, file);
}

std::optional<std::string_view> take_word(std::string_view& text) {
  text = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(word.size());
  return word.empty() ? std::nullopt : std::optional(word);
}

template <class T>
std::optional<T> take_number(std::string_view& text) {
  const auto word = take_word(text);
  return word ? narrow<T>(decimal(*word)) : std::nullopt;
}

// Of a file that could be read at another time.
bool is_passing(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO || error == EINTR;
}

bool is_dead(char state) { return state == 'Z' || state == 'X' || state == 'x'; }

}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view text) {
  const std::size_t command_end = text.rfind(')');
  if (command_end == std::string_view::npos || !text.ends_with('\n')) {
    return std::nullopt;
  }
  text.remove_prefix(command_end + 1);
  const auto state = take_word(text);
  if (!state || state->size() != 1) {
    return std::nullopt;
  }
  std::optional<std::string_view> word;
  for (u32 field = 0; field < kFieldsAfterCommand; ++field) {
    word = take_word(text);
  }
  const auto start_time = word ? decimal(*word) : std::nullopt;
  if (!start_time) {
    return std::nullopt;
  }
  return ProcessStat{state->front(), *start_time};
}

ProcessStatus parse_status(std::string_view text) {
  ProcessStatus result;
  Lines lines(text);
  while (auto line = lines.next()) {
    if (skip(*line, "Uid:")) {
      result.uid = take_number<uid_t>(*line);
      result.effective_uid = take_number<uid_t>(*line);
    } else if (skip(*line, "Gid:")) {
      take_word(*line);  // the real one
      if (const auto effective = take_number<gid_t>(*line)) {
        result.groups.push_back(*effective);
      }
    } else if (skip(*line, "Groups:")) {
      while (const auto group = take_number<gid_t>(*line)) {
        result.groups.push_back(*group);
      }
    } else if (skip(*line, "NSpid:")) {
      while (const auto word = take_word(*line)) {
        const auto pid = narrow<pid_t>(decimal(*word));
        if (!pid) {
          result.namespace_pids.clear();
          break;
        }
        result.namespace_pids.push_back(*pid);
      }
    }
  }
  return result;
}

std::optional<std::string_view> find_variable(std::string_view environ, std::string_view name) {
  for (std::size_t end; (end = environ.find('\0')) != std::string_view::npos;
       environ.remove_prefix(end + 1)) {
    std::string_view entry = environ.substr(0, end);
    if (skip(entry, name) && skip(entry, "=")) {
      return entry;
    }
  }
  return std::nullopt;
}

std::string printable_command(std::string_view cmdline) {
  while (!cmdline.empty() && cmdline.back() == '\0') {
    cmdline.remove_suffix(1);
  }
  std::string command(cmdline);
  for (char& c : command) {
    if (c == '\0') {
      c = ' ';
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      c = '?';
    }
  }
  return command;
}

Result<ProcessKey> process_key(Os& os, const Paths& paths, pid_t pid) {
  const auto text = os.read_file(path_of(paths.proc, pid, "stat"));
  if (!text && is_passing(text.error().code)) {
    return text.error();  // it may well be there
  }
  const auto stat = text ? parse_stat(*text) : std::nullopt;
  if (!stat || is_dead(stat->state)) {
    return Error{ESRCH, fmt::format("process {}", pid), ""};
  }
  return ProcessKey{pid, stat->start_time};
}

Result<ProcessFacts> read_process(Os& os, const std::string& proc, pid_t pid, bool with_cgroup) {
  const Paths paths{.sysfs = "", .debugfs = "", .proc = proc, .live = true};
  ProcessFacts facts;
  facts.key = TRY(process_key(os, paths, pid));
  if (const auto text = os.read_file(path_of(proc, pid, "status"))) {
    const ProcessStatus status = parse_status(*text);
    facts.uid = status.uid;
    if (status.namespace_pids.size() > 1) {
      facts.namespace_pid = status.namespace_pids.back();
    }
  }
  if (const auto text = os.read_start(path_of(proc, pid, "cmdline"), kMostCommand)) {
    facts.command = printable_command(*text);
  }
  if (auto text = os.read_start(path_of(proc, pid, "environ"), kMostEnviron)) {
    facts.environ = std::move(*text);
  }
  if (with_cgroup) {
    if (auto text = os.read_file(path_of(proc, pid, "cgroup"))) {
      facts.cgroup = std::move(*text);
    }
  }
  // What was read is of one process only if it is still there.
  const ProcessKey after = TRY(process_key(os, paths, pid));
  if (after != facts.key) {
    return Error{ESRCH, fmt::format("process {} started at {}", pid, facts.key.start_time), ""};
  }
  return facts;
}

}  // namespace gp::discover
