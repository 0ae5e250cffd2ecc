#include "bench/process_counts.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "demo/cpu_meter.h"

namespace gp::bench {

Result<ProcessCounts> counts_of(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  ProcessCounts counts;
  std::string name;
  bool found = false;
  while (status >> name) {
    u64* value = name == "voluntary_ctxt_switches:" ? &counts.wakes
                 : name == "RssAnon:"               ? &counts.anonymous_kb
                 : name == "Threads:"               ? &counts.threads
                                                    : nullptr;
    if (value != nullptr) {
      status >> *value;
      found = true;
    }
  }
  std::error_code error;
  const std::filesystem::directory_iterator files(fmt::format("/proc/{}/fd", pid), error);
  const auto time = demo::process_time(pid);
  if (!found || error || !time) {
    return Error{ESRCH, fmt::format("process {} cannot be looked at", pid), ""};
  }
  counts.files = static_cast<u64>(std::distance(begin(files), end(files)));
  counts.cpu_ticks = time->own_ticks;
  return counts;
}

}  // namespace gp::bench
