#include "bench/process_counts.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace gp::bench {
namespace {

// User and system time: the words 14 and 15 of proc(5)'s stat; its second may hold anything.
u64 cpu_ticks(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string word;
  u64 ticks = 0;
  for (int number = 3; rest >> word; ++number) {
    if (number == 14 || number == 15) {
      ticks += std::stoull(word);
    }
  }
  return ticks;
}

}  // namespace

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
  if (!found || error) {
    return Error{ESRCH, fmt::format("process {} cannot be looked at", pid), ""};
  }
  counts.files = static_cast<u64>(std::distance(begin(files), end(files)));
  counts.cpu_ticks = cpu_ticks(pid);
  return counts;
}

}  // namespace gp::bench
