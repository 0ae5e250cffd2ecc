// What /proc says of a process: identity, owner, command, environment, pid namespaces.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "discover/discover.h"
#include "os/os.h"

namespace gp::discover {

// /proc/<pid>/stat. The command, in parentheses, may hold anything, parentheses and newlines too.
struct ProcessStat {
  char state = '?';
  u64 start_time = 0;  // field 22
};
std::optional<ProcessStat> parse_stat(std::string_view text);

// /proc/<pid>/status.
struct ProcessStatus {
  std::optional<uid_t> uid;  // the real one
  std::optional<uid_t> effective_uid;
  std::vector<gid_t> groups;          // the effective one and the supplementary ones
  std::vector<pid_t> namespace_pids;  // NSpid: from the namespace of /proc to the process's own
};
ProcessStatus parse_status(std::string_view text);

// /proc/<pid>/environ: "NAME=value" entries, each ended by a zero byte. The first of a name counts,
// as for getenv(). An entry without its end is not given out: the file was cut.
std::optional<std::string_view> find_variable(std::string_view environ, std::string_view name);

// /proc/<pid>/cmdline as one printable line.
std::string printable_command(std::string_view cmdline);

// Of what a process may have made long, so much is read: a quarter of a megabyte takes less than a
// millisecond, if the process does not keep the reader waiting (daemon/onlooker.h).
constexpr std::size_t kMostEnviron = 256 << 10;
constexpr std::size_t kMostCommand = 4 << 10;

// Everything at once; what may not be read is empty. ESRCH if the process is gone or a zombie, or
// if its pid was given to another one meanwhile.
struct ProcessFacts {
  ProcessKey key;
  std::optional<uid_t> uid;
  std::optional<pid_t> namespace_pid;
  std::string command;
  std::optional<std::string> environ;
  std::string cgroup;  // only if asked for
};
Result<ProcessFacts> read_process(Os& os, const std::string& proc, pid_t pid, bool with_cgroup);

}  // namespace gp::discover
