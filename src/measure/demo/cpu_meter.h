// How much CPU other programs took while something was measured: the time in which the CPUs were
// busy (/proc/stat), less what the processes of the measurement used (/proc/PID/stat). Ours are
// this process and all that descend from it, the virtual GPU, and the daemon that runs already. A
// hypervisor's other guests (steal) are others, too.
//
// Beside it the kernel's own word for a shortage (PSI, /proc/pressure/cpu): for how long somebody
// waited for a CPU. It does not say who, so it convicts nobody; but where nobody waited, nobody
// was disturbed. report/verdict.h decides what follows.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libc/types.h"
#include "report/results.h"

namespace gp::demo {

// From the text of /proc/stat: of those CPUs, how many there are and how long they were busy.
struct BusyTime {
  u32 cpus = 0;
  u64 ticks = 0;
};
std::optional<BusyTime> parse_busy_time(const std::string& stat, const cpu_set_t& of);

// From the text of /proc/PID/stat.
struct ProcessTime {
  pid_t parent = 0;
  u64 own_ticks = 0;
  u64 ended_ticks = 0;  // of children that it has waited for, and of theirs
};
std::optional<ProcessTime> parse_process_time(std::string_view stat);
std::optional<ProcessTime> process_time(pid_t pid);

// From the text of /proc/pressure/cpu: microseconds since boot in which somebody waited.
std::optional<u64> parse_waiting_us(const std::string& pressure);

// What these processes and their descendants have used. Time of a child that has ended is in its
// parent: nothing is lost when one ends in between.
u64 ticks_of_trees(const std::map<pid_t, ProcessTime>& all, const std::vector<pid_t>& roots);

class CpuMeter {
 public:
  // Begins now. `daemon`: one that we have not started, and that works for the measurement.
  explicit CpuMeter(std::optional<pid_t> daemon = {});
  // Since then; empty where /proc does not tell.
  std::optional<report::OtherPrograms> read() const;

 private:
  struct Reading {
    std::chrono::steady_clock::time_point time;
    std::optional<BusyTime> busy;
    u64 our_ticks = 0;
    std::optional<u64> waiting_us;
  };
  static Reading look(const std::vector<pid_t>& roots);

  std::vector<pid_t> roots_;
  Reading begin_;
};

}  // namespace gp::demo
